#include "server/cli/call.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/shell_word.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "server/cli/end_session.hpp"
#include "server/cli/print.hpp"
#include "server/mcp/era.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/json_reader.hpp"
#include "server/rpc/json_text.hpp"
#include "server/serve.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace berth::server::cli {
namespace {

using nlohmann::json;

/// From a signal until the call must have told how far it came: what it ran is stopped at once.
constexpr std::chrono::milliseconds last_words{1500};

constexpr std::string_view cancellation =
    R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"
    "\n";

/// How the tool is called, with the example of its description. Of what is no tool: bash_exec.
std::string example(Application& application, const std::string& name)
{
    constexpr std::string_view mark = "Example: ";
    std::string call = tools::in_words_of(application.options().dialect, "bash_exec");
    std::string arguments = R"({"command": "ls"})";
    if (const auto* tool = application.catalog().find(name); tool != nullptr) {
        const auto text =
            tool->describe(application.options().tools, application.sessions().backend());
        if (const auto at = text.rfind(mark); at != std::string::npos) {
            call = name;
            arguments = text.substr(at + mark.size());
        }
    }
    return "They are one JSON object:\n  berth call " + call + ' ' + shell_word(arguments) +
           "\ndocs/tools.md has those of each tool.";
}

/// Whether a call of this tool without any arguments is a mistake, whoever makes it.
bool needs_arguments(const Application& application, const std::string& name)
{
    const auto* tool = application.catalog().find(name);
    return tool != nullptr && json::parse(tool->input_schema).contains("required");
}

std::string read_to_end(int fd)
{
    std::string text;
    std::array<char, 65536> piece{};
    while (const auto count = read_full(fd, piece.data(), piece.size())) {
        text.append(piece.data(), count);
    }
    return text;
}

/// Nothing where they are none, which is told then.
std::optional<json> read_arguments(Application& application, const std::string& tool,
                                   const std::optional<std::string>& given)
{
    if (!given && needs_arguments(application, tool)) {
        complain("the arguments of " + tool + " are missing", example(application, tool));
        return std::nullopt;
    }
    const std::string text = given.value_or("{}");
    try {
        auto parsed = rpc::read_json(text == "-" ? read_to_end(STDIN_FILENO) : text,
                                     application.options().rpc.read);
        if (parsed.is_object()) {
            return parsed;
        }
        complain("the arguments of " + tool + " are no JSON object", example(application, tool));
    } catch (const rpc::ProtocolError& error) {
        complain("the arguments of " + tool + " cannot be read: " + error.what(),
                 example(application, tool));
    }
    return std::nullopt;
}

/// Signals that end a program, held back: one that comes cancels the call, the next ends the
/// program as ever. What the caller ignores, as nohup does, stays ignored.
class Interrupts {
  public:
    Interrupts()
    {
        sigemptyset(&set_);
        for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction action = {};
            ::sigaction(number, nullptr, &action);
            if (action.sa_handler != SIG_IGN) {
                sigaddset(&set_, number);
            }
        }
        ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
        signals_.reset(::signalfd(-1, &set_, SFD_CLOEXEC));
        if (!signals_) {
            throw_errno("signalfd");
        }
    }

    ~Interrupts() { release(); }

    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    /// Waits until `fd` can be read or a signal came; returns its number, 0 for none.
    [[nodiscard]] int wait_for(int fd) const
    {
        std::array<pollfd, 2> waiting{{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                       {.fd = fd, .events = POLLIN, .revents = 0}}};
        while (::poll(waiting.data(), waiting.size(), -1) < 0) {
            if (errno != EINTR) {
                throw_errno("poll");
            }
        }
        signalfd_siginfo info = {};
        const bool signalled = waiting[0].revents != 0 &&
                               read_full(signals_.get(), &info, sizeof(info)) == sizeof(info);
        return signalled ? static_cast<int>(info.ssi_signo) : 0;
    }

    void release() noexcept { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t set_{};
    sigset_t before_{};
    UniqueFd signals_;
};

/// Reads up to the end of the line, or of the stream. A signal ends it before that; its number is
/// returned then, else 0.
int read_reply(int fd, const Interrupts& interrupts, std::string& reply)
{
    std::array<char, 65536> piece{};
    for (;;) {
        if (const int number = interrupts.wait_for(fd); number != 0) {
            return number;
        }
        const auto count = ::read(fd, piece.data(), piece.size());
        if (count < 0 && errno != EINTR) {
            throw_errno("read the answer");
        }
        if (count == 0) {
            return 0;
        }
        reply.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (reply.ends_with('\n')) {
            return 0;
        }
    }
}

/// Reads on for as long as the stream has something, up to the end of the line or the deadline.
void read_last_words(int fd, const Deadline& deadline, std::string& reply)
{
    std::array<char, 65536> piece{};
    while (!reply.ends_with('\n')) {
        pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
        const int ready = ::poll(&waiting, 1, deadline.poll_timeout());
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        const auto count = ready > 0 ? ::read(fd, piece.data(), piece.size()) : 0;
        if (count <= 0) {
            return;
        }
        reply.append(piece.data(), static_cast<std::size_t>(count));
    }
}

/// Whether the reply is that of a call that ran to no end of its own.
bool is_cut_short(const json& reply)
{
    const auto meta = reply.value("/result/_meta"_json_pointer, json::object());
    return reply.contains("error") ||
           meta.value("/berth~1result/fate"_json_pointer, "") == "cancelled" ||
           meta.value("/berth~1error/code"_json_pointer, "") == "cancelled";
}

std::string request_line(const std::string& tool, json arguments)
{
    const json request{
        {"jsonrpc", "2.0"},
        {"id", 1},
        {"method", "tools/call"},
        {"params",
         {{"name", tool},
          {"arguments", std::move(arguments)},
          {"_meta",
           {{"io.modelcontextprotocol/protocolVersion", mcp::modern_version},
            {"io.modelcontextprotocol/clientCapabilities", json::object()},
            {"io.modelcontextprotocol/clientInfo", {{"name", "berth call"}, {"version", ""}}}}}}}};
    return rpc::to_text(request) + '\n';
}

/// The tools that there are, unless the message has named them, as of an unknown one that is near
/// none.
std::string served(const Application& application, const std::string& message)
{
    const auto names = application.catalog().names();
    return message.ends_with(names) ? "" : "Served are: " + names + '.';
}

/// Whether the result speaks of a job or of files that the caller would look for later.
bool speaks_of_later(const json& result)
{
    const auto data = result.value("/_meta/berth~1result"_json_pointer, json::object());
    const auto names = [&](const json::json_pointer& key) {
        return !data.value(key, std::string()).empty();
    };
    return names("/job_id"_json_pointer) || names("/stdout_stream/spill_path"_json_pointer) ||
           names("/stderr_stream/spill_path"_json_pointer);
}

int show(const json& reply, const Application& application, bool as_json)
{
    if (reply.contains("error")) {
        const auto message = reply["error"].value("message", "the call failed");
        complain(message, served(application, message));
        return 1;
    }
    const auto& result = reply.at("result");
    if (as_json) {
        print_json(result);
    } else {
        for (const auto& block : result.at("content")) {
            print(block.value("type", "") == "text"
                      ? block.at("text").get<std::string>()
                      : "[" + block.value("mimeType", "binary") + " content; --json shows it]");
        }
    }
    if (application.options().session.session.empty() && speaks_of_later(result)) {
        complain("this session had no name and has ended with its call, jobs and files included",
                 "--session NAME keeps it for the next call.");
    }
    return result.value("isError", false) ? 1 : 0;
}

/// On a thread of its own, which closes both descriptors at its end. Until it is joined a pipe that
/// nobody reads any more is EPIPE: it can fail before it has read anything.
class Server {
  public:
    Server(Application& application, UniqueFd input, UniqueFd output)
        : thread_([this, &application, input = std::move(input),
                   output = std::move(output)](const std::stop_token& stop) mutable {
              try {
                  serve(application, std::move(input), std::move(output), stop);
              } catch (const std::exception&) {
                  failure_ = std::current_exception();
              }
          })
    {
    }

    void request_stop() noexcept { thread_.request_stop(); }

    /// Waits for its end. Throws what ended it.
    void join()
    {
        thread_.join();
        ::signal(SIGPIPE, sigpipe_);
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

  private:
    // NOLINTNEXTLINE(bugprone-signal-handler)
    void (*sigpipe_)(int) = ::signal(SIGPIPE, SIG_IGN);
    std::exception_ptr failure_;
    std::jthread thread_;
};

/// A server that its client has left has a second, and leaves the files of its unnamed session to
/// the next collection. This one can take the time.
void save_what_it_leaves(Application& application)
{
    const auto& options = application.options();
    if (!options.session.session.empty() || options.sessions.save_on_end.patterns.empty()) {
        return;
    }
    const auto ended =
        application.sessions().kill(options.session, /*purge=*/true, session::AtEnd::save);
    if (ended.saved) {
        complain(saved_sentence(*ended.saved));
    }
    if (const auto unfinished = unfinished_sentence(ended); !unfinished.empty()) {
        complain(unfinished, (ended.remedy.empty() ? "" : ended.remedy + '\n') +
                                 "Its home is kept, and `berth sessions gc` tries again.");
    }
}

} // namespace

int call(Application& application, const std::string& tool,
         const std::optional<std::string>& arguments, bool as_json)
{
    auto read = read_arguments(application, tool, arguments);
    if (!read) {
        return 2;
    }
    Interrupts interrupts; // before the thread, which inherits the mask
    auto requests = make_pipe();
    auto answers = make_pipe();
    Server server(application, std::move(requests.read), std::move(answers.write));
    try {
        write_full(requests.write.get(), request_line(tool, std::move(*read)));
    } catch (const std::system_error&) {
        server.join(); // it has closed its end, and says why
        throw;
    }
    std::string reply;
    const int number = read_reply(answers.read.get(), interrupts, reply);
    if (number != 0) {
        interrupts.release();
        server.request_stop();
        read_last_words(answers.read.get(), Deadline::after(last_words), reply);
        // For a call that does not answer, or was not begun when it was to stop.
        write_full(requests.write.get(), cancellation);
    }
    requests.write.reset();
    reply += read_to_end(answers.read.get()); // ends when the command has, cancelled or not
    server.join();
    if (reply.empty() && number == 0) {
        complain("the server ended without an answer to " + std::string(tool),
                 "`berth status` shows the latest errors.");
        return 1;
    }
    const auto answer = reply.empty() ? json::object() : json::parse(reply);
    if (number == 0 || (!reply.empty() && !is_cut_short(answer))) {
        const int status = show(answer, application, as_json);
        if (number == 0) {
            save_what_it_leaves(application);
        }
        return status;
    }
    if (answer.contains("result")) {
        (void)show(answer, application, as_json);
    }
    complain(std::string(tool) + " was interrupted and is cancelled: what it ran is stopped");
    return 128 + number;
}

} // namespace berth::server::cli
