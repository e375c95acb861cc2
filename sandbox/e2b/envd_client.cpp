#include "sandbox/e2b/envd_client.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/e2b/envelope.hpp"
#include "sandbox/e2b/query.hpp"
#include "sandbox/e2b/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace berth::e2b {
namespace {

constexpr std::size_t largest_reply = 8U << 20U;
constexpr std::string_view first_with_default_user = "0.4.0";
constexpr const char* unary_type = "application/json";
constexpr const char* stream_type = "application/connect+json";

using Version = std::array<unsigned, 3>;

std::optional<Version> parse_version(std::string_view text)
{
    Version version{};
    for (std::size_t i = 0; i < version.size(); ++i) {
        if (i > 0) {
            if (!text.starts_with('.')) {
                return std::nullopt;
            }
            text.remove_prefix(1);
        }
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), version[i]);
        if (error != std::errc()) {
            return std::nullopt;
        }
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return version; // what follows is of a build
}

} // namespace

bool is_before(std::string_view version, std::string_view other)
{
    const auto a = parse_version(version);
    const auto b = parse_version(other);
    return a && b && *a < *b;
}

EnvdClient::EnvdClient(HttpClient& http, EnvdAddress address, EnvdTimes times)
    : http_(http), address_(std::move(address)), times_(times)
{
}

ProcessStream EnvdClient::start(const ProcessStart& start)
{
    return open_stream("Start", start_message(start), start.user, "start a process in the sandbox");
}

ProcessStream EnvdClient::connect(Pid pid)
{
    return open_stream("Connect", process_message(pid), {}, "connect to a process in the sandbox");
}

std::vector<ProcessInfo> EnvdClient::list(const Deadline& deadline, const std::stop_token& stop)
{
    return parse_processes(call("List", "{}", "list the processes of the sandbox", deadline, stop));
}

void EnvdClient::send_input(Pid pid, std::string_view bytes, const Deadline& deadline,
                            const std::stop_token& stop)
{
    static_cast<void>(call("SendInput", input_message(pid, bytes),
                           "give input to a process in the sandbox", deadline, stop));
}

InputStream EnvdClient::stream_input(Pid pid)
{
    auto request = procedure("StreamInput", {}, true);
    request.streamed = true;
    return {http_.open(address_.endpoint, std::move(request)),
            asked("give input to a process in the sandbox"), times_, pid};
}

void EnvdClient::close_stdin(Pid pid, const Deadline& deadline, const std::stop_token& stop)
{
    static_cast<void>(call("CloseStdin", process_message(pid),
                           "end the input of a process in the sandbox", deadline, stop));
}

void EnvdClient::send_signal(Pid pid, ProcessSignal signal, const Deadline& deadline,
                             const std::stop_token& stop)
{
    static_cast<void>(call("SendSignal", signal_message(pid, signal),
                           "signal a process in the sandbox", deadline, stop));
}

bool EnvdClient::is_healthy(const Deadline& deadline, const std::stop_token& stop)
{
    const auto reply = http_.request(address_.endpoint, request("GET", "/health", {}),
                                     largest_reply, soon(deadline), stop);
    if (reply.status == 204 || reply.status == 200) {
        return true;
    }
    if (reply.status == 502) {
        return false;
    }
    throw envd_error(asked("ask whether the sandbox answers"), reply);
}

HttpRequest EnvdClient::request(std::string method, std::string target,
                                const std::string& type) const
{
    HttpRequest request{.method = std::move(method), .target = std::move(target)};
    // Never an Idempotency-Key: Go's proxies would send the request again by themselves. Never a
    // Connect-Timeout-Ms: envd would kill the process at its end, and leave its children.
    request.headers = {{"E2b-Sandbox-Id", address_.sandbox_id},
                       {"E2b-Sandbox-Port", std::to_string(envd_port)},
                       {"Accept", "*/*"},
                       {"Accept-Encoding", "identity"},
                       {"User-Agent", "berth"}};
    if (!address_.token.empty()) {
        request.headers.emplace_back("X-Access-Token", address_.token);
    }
    if (!type.empty()) {
        request.headers.emplace_back("Content-Type", type);
    }
    return request;
}

HttpRequest EnvdClient::procedure(const std::string& name, const std::string& user,
                                  bool stream) const
{
    auto request =
        this->request("POST", "/process.Process/" + name, stream ? stream_type : unary_type);
    request.headers.emplace_back("Connect-Protocol-Version", "1");
    if (const auto who = user_of(user); !who.empty()) {
        request.headers.emplace_back("Authorization", "Basic " + base64_encode(who + ':'));
    }
    return request;
}

std::string EnvdClient::call(const std::string& name, std::string message, std::string what,
                             const Deadline& deadline, const std::stop_token& stop)
{
    auto request = procedure(name, {}, false);
    request.body = std::move(message);
    auto reply =
        http_.request(address_.endpoint, std::move(request), largest_reply, soon(deadline), stop);
    if (reply.status != 200) {
        throw envd_error(asked(std::move(what)), reply);
    }
    return std::move(reply.body);
}

ProcessStream EnvdClient::open_stream(const std::string& name, const std::string& message,
                                      const std::string& user, std::string what)
{
    auto request = procedure(name, user, true);
    // envd makes a ticker of it, which ends the whole of envd for 0 or less.
    const auto ping = std::max<std::chrono::seconds>(times_.ping, std::chrono::seconds(1));
    request.headers.emplace_back("Keepalive-Ping-Interval", std::to_string(ping.count()));
    put_envelope(request.body, message);
    return {http_.open(address_.endpoint, std::move(request)), asked(std::move(what)), times_};
}

Asked EnvdClient::asked(std::string what) const
{
    return {
        .what = std::move(what), .where = address_.endpoint.shown(), .secrets = {address_.token}};
}

Deadline EnvdClient::soon(const Deadline& deadline) const
{
    return Deadline::earlier(deadline, Deadline::after(times_.patience));
}

std::string EnvdClient::user_of(const std::string& user) const
{
    // Before that there was no default, and everything ran as root.
    return user.empty() && is_before(address_.version, first_with_default_user) ? "user" : user;
}

} // namespace berth::e2b
