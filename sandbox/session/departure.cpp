#include "sandbox/session/departure.hpp"

#include <chrono>
#include <exception>

namespace berth::session {
namespace {

/// Whoever stops a server waits for it.
constexpr std::chrono::seconds leave_time{5};
/// And may end it before the pause, which is worth more.
constexpr std::chrono::seconds sync_time{2};

} // namespace

bool depart(sandbox::Sandbox& sandbox, protocol::OnDisconnect policy) noexcept
{
    auto& machine = sandbox.machine();
    if (machine.reach().kept || machine.may_sleep()) {
        return false;
    }
    try {
        const auto deadline = Deadline::after(leave_time);
        const bool last = sandbox.leave(deadline) == 0U;
        if (last && policy == protocol::OnDisconnect::now) {
            sandbox.sync(sync_time);
            static_cast<void>(machine.suspend(Deadline::after(leave_time)));
        }
        return last;
    } catch (const std::exception&) {
        return false; // its lease runs out, and then the time that its host gives it
    }
}

} // namespace berth::session
