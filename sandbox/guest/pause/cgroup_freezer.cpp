#include "sandbox/guest/pause/cgroup_freezer.hpp"

#include "sandbox/guest/exec/cgroup.hpp"

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
    : Freezer(loop), freeze_(open_in(directory, "cgroup.freeze", O_WRONLY)),
      events_(open_in(directory, "cgroup.events", O_RDONLY))
{
}

bool CgroupFreezer::begin()
{
    return ::pwrite(freeze_.get(), "1", 1, 0) == 1;
}

bool CgroupFreezer::is_at_rest()
{
    was_read_ = true;
    return cgroup_event(events_.get(), "frozen").value_or(0) != 0;
}

void CgroupFreezer::forget_reading() noexcept
{
    if (std::exchange(was_read_, false)) {
        guest::forget_reading(events_.get());
    }
}

void CgroupFreezer::undo() noexcept
{
    (void)!::pwrite(freeze_.get(), "0", 1, 0);
}

} // namespace berth::guest
