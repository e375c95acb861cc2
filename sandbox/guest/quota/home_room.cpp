#include "sandbox/guest/quota/home_room.hpp"

#include <algorithm>

#include <sys/statvfs.h>

namespace berth::guest {

std::optional<HomeRoom> room_of(const std::string& folder)
{
    struct statvfs system = {};
    if (::statvfs(folder.c_str(), &system) != 0) {
        return std::nullopt;
    }
    const auto free = std::min(system.f_bfree, system.f_blocks);
    return HomeRoom{.limit = system.f_blocks * system.f_frsize,
                    .used = (system.f_blocks - free) * system.f_frsize,
                    .left = system.f_bavail * system.f_frsize,
                    .free = free * system.f_frsize};
}

} // namespace berth::guest
