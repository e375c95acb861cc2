#include "sandbox/local/attachment.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/local/local_errors.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/local/record_origin.hpp"
#include "sandbox/local/unseen_guest.hpp"

#include <chrono>
#include <system_error>
#include <utility>

namespace berth::local {
namespace {

/// Process, start and boot identify this very machine: no later one can answer in its place.
bool is_seen(const MachineFacts& facts)
{
    try {
        return open_guest(facts).valid();
    } catch (const std::system_error& error) {
        throw cannot_tell(error);
    }
}

/// False: nobody listens there.
bool answers(const MachineFacts& facts)
{
    try {
        (void)connect_unix(facts.socket_path, Deadline::after(std::chrono::seconds(2)));
        return true;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::session_lost) {
            return false;
        }
        throw cannot_tell(error);
    } catch (const std::system_error& error) {
        throw cannot_tell(error);
    }
}

} // namespace

std::unique_ptr<sandbox::Machine> attach_machine(const std::string& state,
                                                 const sandbox::MachineRecord& record)
{
    auto present = with_present_socket(record, state);
    const MachineFacts facts = facts_from(present);
    const bool seen = !is_of_copy(present, state) && is_seen(facts);
    if (seen && answers(facts)) {
        return make_machine(std::move(present));
    }
    try {
        require_none_unseen(state, record);
    } catch (const Error& error) {
        if (!seen) {
            throw;
        }
        // Only its socket is not here, and it can be ended from here.
        throw Error(
            Error(ErrorCode::backend_error,
                  "the sandbox of this session lives (its first process is " +
                      std::to_string(facts.pid) + "), and cannot be reached: its socket " +
                      facts.socket_path + " is gone, or nobody listens there",
                  "something has emptied that folder; `berth sessions kill` ends the sandbox, and "
                  "the next call makes another, with its home")
                .set_retryable(false));
    }
    return nullptr;
}

} // namespace berth::local
