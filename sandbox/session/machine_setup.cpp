#include "sandbox/session/machine_setup.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/printed_end.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace berth::session {
namespace {

using protocol::Fate;

constexpr std::uint64_t kept_output = 1500; ///< of each stream's end
constexpr std::size_t shown_command = 200;

protocol::ExecuteRequest request_for(const std::string& command, const Setup& setup,
                                     std::chrono::milliseconds left)
{
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = command;
    request.timeout = static_cast<std::uint64_t>(left.count());
    if (setup.variables) {
        request.environment = setup.variables();
    }
    request.on_exit = protocol::OnExit::kill;
    request.tail_limit = kept_output;
    request.sticky_cwd = false;
    request.protection = setup.protection;
    return request;
}

std::string fate_of(const protocol::ExecuteReply& reply, const Setup& setup)
{
    switch (reply.fate) {
    case Fate::exited:
        return "failed with exit code " + std::to_string(reply.exit_code);
    case Fate::timed_out:
        return "was not done in time (session.setup_timeout = " +
               std::to_string(setup.timeout.count()) + " s for all of them)";
    case Fate::oom_killed:
        return "was killed at the memory limit (local.memory)";
    case Fate::signaled:
        return "was ended by signal " + std::to_string(reply.signal);
    case Fate::cancelled:
    case Fate::lost:
        break;
    }
    return "was broken off";
}

/// `why`: behind the command's beginning.
Error failed(const std::string& command, const std::string& why)
{
    return {ErrorCode::sandbox_unavailable,
            "the sandbox could not be set up: the command `" +
                visible_beginning(command, shown_command, "…") + "` of session.setup " + why,
            "Nothing of this call was done. The operator corrects session.setup, or what the "
            "command needs; the next call makes a fresh sandbox and runs it again. A home that "
            "was there before is kept."};
}

void require_success(const protocol::ExecuteReply& reply, const std::string& command,
                     const Setup& setup)
{
    if (reply.fate == Fate::exited && reply.exit_code == 0) {
        return;
    }
    auto said = printed_end(reply.out) + printed_end(reply.err);
    if (said.ends_with('\n')) {
        said.pop_back();
    }
    // The guest's own word on why it stopped it, as that the home has become too large.
    const auto why = reply.notice.empty() ? "" : " (" + visible(reply.notice) + ')';
    throw Error(
        failed(command, fate_of(reply, setup) + why + (said.empty() ? ", and printed nothing" : ""))
            .with_output(said));
}

/// The command is one that nobody can run, whatever the state of things.
bool is_about_request(ErrorCode code)
{
    constexpr std::array about_request{ErrorCode::invalid_argument, ErrorCode::empty_command,
                                       ErrorCode::not_found, ErrorCode::permission_denied,
                                       ErrorCode::too_large};
    return std::ranges::find(about_request, code) != about_request.end();
}

Error while_set_up(const Error& error)
{
    Error told(error.code(),
               std::string("the sandbox could not be set up (session.setup): ") + error.what(),
               error.hint());
    return told.with_details_of(error).set_retryable(error.retryable());
}

protocol::ExecuteReply run(sandbox::Sandbox& sandbox, const protocol::ExecuteRequest& request,
                           const std::stop_token& stop)
{
    try {
        auto reply = sandbox.execute(request, stop);
        if (reply.fate == Fate::cancelled && stop.stop_requested()) {
            throw Error(ErrorCode::cancelled,
                        "the call was cancelled while its fresh sandbox was set up "
                        "(session.setup)",
                        "Nothing of the call was done; the next one makes the sandbox anew.");
        }
        return reply;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::cancelled) {
            throw;
        }
        if (error.code() == ErrorCode::session_lost) {
            throw Error(ErrorCode::sandbox_unavailable,
                        "the sandbox was ended while it was set up (session.setup)",
                        "Nothing of the call was done; the next one makes the sandbox anew.");
        }
        // Else who called would take it for one about the call's own command.
        throw is_about_request(error.code())
            ? failed(request.command, std::string("could not be run: ") + error.what())
            : while_set_up(error);
    }
}

std::string seconds_text(std::chrono::milliseconds time)
{
    const auto tenths = (time.count() + 50) / 100;
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
}

} // namespace

Error busy_making(const Setup& setup, const std::string& what, const std::string& more)
{
    const auto besides = more.empty() ? std::string() : ". " + more;
    if (setup.commands.empty()) {
        return {ErrorCode::busy, what, "try again in a few seconds" + besides};
    }
    const auto most = std::to_string(setup.timeout.count());
    return Error(ErrorCode::busy, what,
                 "session.setup may run in it, for " + most + " s at most: try again then" +
                     besides)
        .with_detail("retry_after", most);
}

std::string set_up(sandbox::Sandbox& sandbox, const Setup& setup, const std::stop_token& stop)
{
    if (setup.commands.empty()) {
        return {};
    }
    const auto begun = BootClock::now();
    const auto passed = [&] {
        return std::chrono::duration_cast<std::chrono::milliseconds>(BootClock::now() - begun);
    };
    for (const auto& command : setup.commands) {
        const auto left = std::max<std::chrono::milliseconds>(setup.timeout - passed(),
                                                              std::chrono::milliseconds(1));
        auto request = request_for(command, setup, left);
        request.environment.merge(sandbox.placeholders(setup.withheld));
        const auto reply = run(sandbox, request, stop);
        require_success(reply, command, setup);
    }
    const auto count = setup.commands.size();
    return "the fresh sandbox was set up by its operator: " + std::to_string(count) +
           (count == 1 ? " command" : " commands") + " of session.setup in " +
           seconds_text(passed());
}

} // namespace berth::session
