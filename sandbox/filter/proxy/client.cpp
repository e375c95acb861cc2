#include "sandbox/filter/proxy/client.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/filter/proxy/dialler.hpp"
#include "sandbox/filter/proxy/relay.hpp"
#include "sandbox/filter/request.hpp"
#include "sandbox/filter/secret_replacing.hpp"
#include "sandbox/filter/socks.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>

namespace berth::filter {
namespace {

/// For all that a client says before it is connected.
constexpr std::chrono::seconds patience_with_head{30};
constexpr unsigned denied_status = 403;
constexpr unsigned bad_gateway = 502;
constexpr unsigned gateway_timeout = 504;
constexpr unsigned head_too_large = 431;

std::string_view phrase_of(unsigned status)
{
    switch (status) {
    case denied_status:
        return "Forbidden";
    case head_too_large:
        return "Request Header Fields Too Large";
    case bad_gateway:
        return "Bad Gateway";
    case gateway_timeout:
        return "Gateway Timeout";
    default:
        return "Bad Request";
    }
}

/// Of a whole answer of the proxy's own.
std::string page(unsigned status, const std::string& text)
{
    const std::string body = "berth: " + text + "\n";
    return "HTTP/1.1 " + std::to_string(status) + ' ' + std::string(phrase_of(status)) +
           "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

class Client {
  public:
    Client(UniqueFd socket, const Service& service)
        : socket_(std::move(socket)), rules_(service.rules), secrets_(service.secrets),
          reporter_(service.reporter)
    {
    }

    void serve()
    {
        if (!has(1)) {
            return;
        }
        if (bytes_.front() == socks::version) {
            serve_socks();
        } else {
            serve_http();
        }
    }

  private:
    using SizeOf = std::optional<std::size_t> (*)(std::string_view bytes);

    void serve_http();
    void serve_request(Request request);
    void refuse(protocol::Denial denial);
    void serve_socks();
    [[nodiscard]] bool read_more();
    [[nodiscard]] bool has(std::size_t size);
    [[nodiscard]] std::string take(std::size_t size);
    [[nodiscard]] std::optional<std::string> message(SizeOf size_of);
    void go_on(const UniqueFd& server, const Target* tunnel, std::optional<std::uint64_t> most);

    void say(std::string_view text) const
    {
        // Small, and the first that is said: it fits into the socket.
        (void)::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }

    const UniqueFd socket_;
    const Rules& rules_;
    const SecretBook& secrets_;
    const Reporter& reporter_;
    const Deadline deadline_ = Deadline::after(patience_with_head);
    std::string bytes_; ///< that have come and were not looked at yet
};

/// False: no more come, or not in time.
bool Client::read_more()
{
    std::array<char, 4096> buffer; // NOLINT(*-member-init): what was written to is read
    for (;;) {
        if (!wait_readable(socket_.get(), deadline_)) {
            return false;
        }
        const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (size > 0) {
            bytes_.append(buffer.data(), static_cast<std::size_t>(size));
            return true;
        }
        if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
            return false;
        }
    }
}

bool Client::has(std::size_t size)
{
    while (bytes_.size() < size) {
        if (!read_more()) {
            return false;
        }
    }
    return true;
}

std::string Client::take(std::size_t size)
{
    std::string taken = bytes_.substr(0, size);
    bytes_.erase(0, size);
    return taken;
}

/// The message that comes next, of which `size_of` says how long it is once it can. Nothing: not
/// all of it comes.
std::optional<std::string> Client::message(SizeOf size_of)
{
    std::optional<std::size_t> size;
    while (!(size = size_of(bytes_))) {
        if (!read_more()) {
            return std::nullopt;
        }
    }
    if (!has(*size)) {
        return std::nullopt;
    }
    return take(*size);
}

void Client::go_on(const UniqueFd& server, const Target* tunnel, std::optional<std::uint64_t> most)
{
    auto denial = relay({.client = socket_.get(),
                         .server = server.get(),
                         .from_client = std::move(bytes_),
                         .most_from_client = most,
                         .tunnel = tunnel});
    if (denial) {
        reporter_.tell(std::move(*denial));
        // An alert of TLS, unrecognized_name: else it would look like a broken network.
        say(std::string_view("\x15\x03\x03\x00\x02\x02\x70", 7));
    }
}

void Client::serve_http()
{
    std::size_t end = 0;
    while ((end = end_of_head(bytes_)) == std::string_view::npos) {
        if (bytes_.size() > longest_head) {
            say(page(head_too_large, "the head of the request is too long"));
            return;
        }
        if (!read_more()) {
            return;
        }
    }
    try {
        serve_request(read_request(take(end)));
    } catch (const BadRequest& bad) {
        reporter_.tell({.kind = "request",
                        .target = "",
                        .reason = "the proxy does not take a request: " + bad.reason,
                        .remedy = "Give the address as https://NAME/ or http://NAME/, with a "
                                  "name of the DNS or an IP address in its usual form."});
        say(page(bad.status, bad.reason));
    }
}

void Client::refuse(protocol::Denial denial)
{
    const auto text = denial.target + " is denied: " + denial.reason + ".\n" + denial.remedy;
    reporter_.tell(std::move(denial));
    say(page(denied_status, text));
}

void Client::serve_request(Request request)
{
    auto dialled = dial(rules_, request.target);
    if (dialled.denial) {
        refuse(std::move(*dialled.denial));
        return;
    }
    if (!dialled.socket) {
        say(page(dialled.failure == Dialled::Failure::unreachable ? gateway_timeout : bad_gateway,
                 dialled.reason));
        return;
    }
    if (request.form == Request::Form::tunnel) {
        say("HTTP/1.1 200 Connection established\r\n\r\n");
        go_on(dialled.socket, &request.target, std::nullopt);
        return;
    }
    if (auto denial = put_secrets_in(request, secrets_.replacements(request.target, false))) {
        refuse(std::move(*denial));
        return;
    }
    const auto head = head_of(request);
    auto most = request.body;
    if (most) {
        *most += head.size();
    }
    bytes_.insert(0, head);
    go_on(dialled.socket, nullptr, most);
}

void Client::serve_socks()
{
    const auto greeting = message(socks::size_of_greeting);
    if (!greeting) {
        return;
    }
    const auto choice = socks::choose(*greeting);
    say(choice.answer);
    if (!choice.takes) {
        return;
    }
    const auto request = message(socks::size_of_request);
    if (!request) {
        return;
    }
    const auto wanted = socks::read_request(*request);
    if (!wanted.target) {
        say(socks::answer(wanted.refusal));
        return;
    }
    auto dialled = dial(rules_, *wanted.target);
    if (dialled.denial) {
        reporter_.tell(std::move(*dialled.denial));
        say(socks::answer(socks::Reply::not_allowed));
        return;
    }
    if (!dialled.socket) {
        say(socks::answer(dialled.failure == Dialled::Failure::refused
                              ? socks::Reply::refused
                              : socks::Reply::host_unreachable));
        return;
    }
    say(socks::answer(socks::Reply::succeeded));
    go_on(dialled.socket, &*wanted.target, std::nullopt);
}

} // namespace

void serve_client(UniqueFd socket, const Service& service) noexcept
{
    try {
        Client(std::move(socket), service).serve();
    } catch (const std::exception&) {
        return; // of memory or descriptors there is none left: this client is closed, others go on
    }
}

} // namespace berth::filter
