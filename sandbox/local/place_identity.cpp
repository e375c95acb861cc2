#include "sandbox/local/place_identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::local {

PlaceIdentity identity_at(const std::string& path) noexcept
{
    struct statx status = {};
    if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &status) != 0) {
        return {};
    }
    return {.found = true,
            .number = status.stx_ino,
            .device_major = status.stx_dev_major,
            .device_minor = status.stx_dev_minor,
            .birth_seconds = status.stx_btime.tv_sec,
            .birth_nanoseconds = status.stx_btime.tv_nsec};
}

} // namespace berth::local
