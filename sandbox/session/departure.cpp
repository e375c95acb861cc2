#include "sandbox/session/departure.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>

namespace berth::session {
namespace {

/// Whoever stops a server waits for it.
constexpr std::chrono::seconds leave_time{5};
/// And may end it before the pause, which is worth more.
constexpr std::chrono::seconds sync_time{2};

/// What may be otherwise in a moment: with the word lost its machine would run on for hours.
constexpr std::array rests{std::chrono::milliseconds(100), std::chrono::milliseconds(400),
                           std::chrono::milliseconds(1000)};

std::optional<std::uint32_t> leave(sandbox::Sandbox& sandbox, const Deadline& deadline)
{
    for (const auto rest : rests) {
        try {
            return sandbox.leave(deadline);
        } catch (const sandbox::Unsent& error) {
            if (error.is_of_gone()) {
                throw;
            }
        } catch (const sandbox::Unanswered&) { // NOLINT(bugprone-empty-catch): to say it again
            // changes nothing
        }
        if (deadline.expired()) {
            break;
        }
        std::this_thread::sleep_for(rest);
    }
    return sandbox.leave(deadline);
}

} // namespace

bool depart(sandbox::Sandbox& sandbox, protocol::OnDisconnect policy) noexcept
{
    auto& machine = sandbox.machine();
    if (machine.reach().kept || machine.may_sleep()) {
        return false;
    }
    try {
        const auto deadline = Deadline::after(leave_time);
        bool last = leave(sandbox, deadline) == 0U;
        if (last && policy == protocol::OnDisconnect::now) {
            sandbox.sync(sync_time);
            last = leave(sandbox, deadline) == 0U; // who came meanwhile has begun something
        }
        if (last && policy == protocol::OnDisconnect::now) {
            static_cast<void>(machine.suspend(Deadline::after(leave_time)));
        }
        return last;
    } catch (const std::exception&) {
        return false; // its lease runs out, and then the time that its host gives it
    }
}

} // namespace berth::session
