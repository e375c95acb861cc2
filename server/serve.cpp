#include "server/serve.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "server/ending.hpp"
#include "server/log.hpp"
#include "server/signals.hpp"
#include "server/transport/stdio.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::server {
namespace {

using namespace std::chrono_literals;

/// A client that closes its side may have piped requests in and still read: what takes no longer
/// may end by itself.
constexpr auto grace_after_eof = 350ms;
/// Then calls are stopped and have until here to say how they ended.
constexpr auto drain_time = 700ms;
/// Of the client, to read the last answers: what it has not read the next server tells of.
constexpr std::chrono::milliseconds reading_time = 50ms;
/// One that has closed its side alone may read as late as a pipe's next program starts. What is
/// left of a second (ending.cpp) is for the session, which may have to be ended.
constexpr auto reading_after_eof = 400ms;

/// One client's connection, its reader and its calls.
struct Peer {
    Peer(Application& application, UniqueFd input, UniqueFd output)
        : pool(application.options().rpc.in_flight),
          transport(std::move(input), std::move(output), application.options().message_limit),
          connection(application.service()),
          dispatcher(connection, transport.sink(), pool, application.options().rpc)
    {
    }

    rpc::WorkerPool pool;
    transport::Stdio transport;
    mcp::Connection connection;
    rpc::Dispatcher dispatcher;
};

/// Moves a standard descriptor to a number of its own and puts `replacement` in its place.
UniqueFd take(int number, const UniqueFd& replacement)
{
    UniqueFd taken(::fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (!taken || !replacement || ::dup2(replacement.get(), number) < 0) {
        throw_errno("standard descriptor " + std::to_string(number));
    }
    return taken;
}

UniqueFd take_standard_input()
{
    return take(STDIN_FILENO, UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
}

/// Nothing but the protocol may reach the client: whatever prints to standard output from here on
/// prints to stderr instead.
UniqueFd take_standard_output()
{
    UniqueFd replacement(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!replacement) { // started without a stderr
        replacement.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    }
    return take(STDOUT_FILENO, replacement);
}

/// Of a server whose input and output are one socket, as systemd and inetd start it; else invalid.
UniqueFd find_connection()
{
    struct stat input{};
    struct stat output{};
    const bool found = ::fstat(STDIN_FILENO, &input) == 0 && S_ISSOCK(input.st_mode) &&
                       ::fstat(STDOUT_FILENO, &output) == 0 && input.st_dev == output.st_dev &&
                       input.st_ino == output.st_ino;
    return UniqueFd(found ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : -1);
}

/// Waits for the reader to end or a signal; true for the end of the input.
bool wait_for_end(const UniqueFd& signals, const UniqueFd& reader_ended)
{
    std::array<pollfd, 2> waiting{{{.fd = signals.get(), .events = POLLIN, .revents = 0},
                                   {.fd = reader_ended.get(), .events = POLLIN, .revents = 0}}};
    while (::poll(waiting.data(), waiting.size(), -1) < 0 && errno == EINTR) {
    }
    return waiting[0].revents == 0;
}

/// Why a server ends.
enum class Reason : unsigned char { end_of_input, client_gone, output_lost, hung_up, signal };

std::string_view to_string(Reason reason) noexcept
{
    switch (reason) {
    case Reason::end_of_input:
        return "end of input";
    case Reason::client_gone:
        return "client gone";
    case Reason::output_lost:
        return "output lost";
    case Reason::hung_up:
        return "terminal gone";
    case Reason::signal:
        break;
    }
    return "signal";
}

/// A terminal that goes away (SIGHUP) is no operator who wants commands to stop.
Reason reason_of(const UniqueFd& signals) noexcept
{
    signalfd_siginfo taken{};
    return ::read(signals.get(), &taken, sizeof(taken)) == sizeof(taken) &&
                   taken.ssi_signo == SIGHUP
               ? Reason::hung_up
               : Reason::signal;
}

/// Whether anybody could be told later of what nobody has read; else the time is for the session's
/// end.
bool stays(const Options& options)
{
    return !options.session.session.empty() &&
           options.sessions.on_disconnect != protocol::OnDisconnect::kill;
}

void shut_down(Application& application, Peer& peer, Reason reason,
               const std::chrono::steady_clock::time_point started)
{
    const auto left = [started](std::chrono::milliseconds until) {
        const auto time = started + until - std::chrono::steady_clock::now();
        return std::max(std::chrono::ceil<std::chrono::milliseconds>(time), reading_time);
    };
    const bool is_piped = reason == Reason::end_of_input;
    if (!is_piped || !peer.dispatcher.drain(Deadline::after(left(grace_after_eof)))) {
        if (reason != Reason::signal) {
            application.sessions().leave_commands();
        }
        peer.dispatcher.stop();
        peer.dispatcher.drain(Deadline::after(left(drain_time)));
    }
    peer.transport.settle(is_piped && stays(application.options()) ? left(reading_after_eof)
                                                                   : reading_time);
    application.sessions().backend().leave();
    application.sessions().close();
}

/// Whether answers were lost: whoever started the server has no other way to hear of it.
bool tell_lost_output(const transport::Stdio& transport)
{
    const int error = transport.lost_output();
    if (error == 0) {
        return false;
    }
    log::write(log::Level::error, "the output cannot be written",
               {{"error", std::generic_category().message(error)},
                {"hint", "answers were lost; make room where standard output goes"}});
    return true;
}

} // namespace

void serve_stdio(Application& application, const std::shared_ptr<AuditLog>& audit)
{
    const auto signals = take_signals();
    const auto connection = find_connection();
    // Never destroyed: their destructors wait for calls, and the process may not.
    auto& peer = *new Peer(application, take_standard_input(), take_standard_output());
    application.sessions().start_collecting();
    const UniqueFd reader_ended(::eventfd(0, EFD_CLOEXEC));
    std::atomic<transport::Stdio::End> end{transport::Stdio::End::stopped};
    run_detached([&] { end = peer.transport.run(peer.dispatcher); }, reader_ended, "reader failed");

    const bool reader_is_done = wait_for_end(signals, reader_ended);
    const auto reason = !reader_is_done                             ? reason_of(signals)
                        : end == transport::Stdio::End::end_of_file ? Reason::end_of_input
                        : peer.transport.lost_output() != 0         ? Reason::output_lost
                                                                    : Reason::client_gone;
    const auto started = std::chrono::steady_clock::now();
    log::write(log::Level::info, "stopping", {{"reason", to_string(reason)}});
    clear_away([&] { shut_down(application, peer, reason, started); },
               time_to_end(application.sessions().backend()));
    close_audit_log(audit);
    if (connection) {
        // systemd has it too, and keeps that of a unit it was told to stop for as long as a sandbox
        // lives below the unit: the client would wait for answers.
        ::shutdown(connection.get(), SHUT_RDWR);
    }
    ::_exit(tell_lost_output(peer.transport) ? 1 : 0);
}

void serve(Application& application, UniqueFd input, UniqueFd output, const std::stop_token& stop)
{
    Peer peer(application, std::move(input), std::move(output));
    const std::stop_callback end_calls(stop, [&peer] { peer.dispatcher.stop(); });
    peer.transport.run(peer.dispatcher);
    peer.dispatcher.drain(Deadline());
    peer.transport.settle(reading_time);
}

} // namespace berth::server
