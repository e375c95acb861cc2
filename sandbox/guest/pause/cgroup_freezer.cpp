#include "sandbox/guest/pause/cgroup_freezer.hpp"

#include "sandbox/guest/exec/cgroup.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace berth::guest {
namespace {

UniqueFd open_in(int directory, const char* name, int flags)
{
    return UniqueFd(directory < 0 ? -1 : ::openat(directory, name, flags | O_CLOEXEC));
}

} // namespace

CgroupFreezer::CgroupFreezer(EventLoop& loop, int directory)
    : loop_(loop), freeze_(open_in(directory, "cgroup.freeze", O_WRONLY)),
      events_(open_in(directory, "cgroup.events", O_RDONLY))
{
}

CgroupFreezer::~CgroupFreezer()
{
    loop_.cancel(timer_);
}

void CgroupFreezer::freeze(Done done)
{
    done_ = std::move(done);
    give_up_ = BootClock::now() + patience;
    step_ = first_step;
    if (::pwrite(freeze_.get(), "1", 1, 0) != 1) {
        give_up_ = BootClock::now();
    }
    look();
}

/// By the clock and not by an event of the file: epoll may refuse to watch it (max_user_watches is
/// shared with whatever has the guest's uid), and an idle cgroup is frozen at the first look.
void CgroupFreezer::look()
{
    timer_ = loop_.call_at(BootClock::now() + step_, [this] {
        const bool frozen = is_frozen();
        if (!frozen && BootClock::now() < give_up_) {
            step_ = std::min(2 * step_, longest_step);
            look();
            return;
        }
        const Done done = std::exchange(done_, nullptr);
        done(frozen);
    });
}

bool CgroupFreezer::is_frozen() const
{
    return cgroup_event(events_.get(), "frozen").value_or(0) != 0;
}

void CgroupFreezer::thaw() noexcept
{
    loop_.cancel(timer_);
    done_ = nullptr;
    (void)!::pwrite(freeze_.get(), "0", 1, 0);
}

} // namespace berth::guest
