#include "server/ending.hpp"

#include "sandbox/backend.hpp"
#include "sandbox/base/io.hpp"
#include "server/log.hpp"

#include <exception>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>

namespace berth::server {
namespace {

using namespace std::chrono_literals;

/// A second is promised, and a busy machine takes its part of it.
constexpr auto promised = 800ms;
/// Where a machine is elsewhere, and is to sleep with what was written in it.
constexpr auto distant = 3'500ms;

} // namespace

void run_detached(std::function<void()> work, const UniqueFd& done, std::string_view failure)
{
    std::thread([work = std::move(work), &done, failure] {
        try {
            work();
        } catch (const std::exception& error) {
            log::write(log::Level::error, failure, {{"error", error.what()}});
        }
        wake(done.get());
    }).detach();
}

std::chrono::milliseconds time_to_end(const sandbox::Backend& backend)
{
    return backend.is_bound_to_host() ? promised : distant;
}

bool done_within(std::function<void()> work, std::chrono::milliseconds time,
                 std::string_view failure)
{
    // Not freed: what comes late still says that it is done.
    auto& done = *new UniqueFd(::eventfd(0, EFD_CLOEXEC));
    run_detached(std::move(work), done, failure);
    pollfd waiting{.fd = done.get(), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, static_cast<int>(time.count())) != 0;
}

void clear_away(std::function<void()> work, std::chrono::milliseconds time)
{
    if (!done_within(std::move(work), time, "clearing away failed")) {
        log::write(log::Level::warning, "stopped before everything was cleared away",
                   {{"hint", "the next server of this state directory collects what is left"}});
    }
}

} // namespace berth::server
