#include "sandbox/guest/abandoned.hpp"

#include <sys/stat.h>

namespace berth::guest {

bool is_abandoned(int note, const std::string& home) noexcept
{
    struct stat status{};
    return note >= 0 && ::fstat(note, &status) == 0 && status.st_nlink == 0 &&
           ::stat(home.c_str(), &status) == 0 && status.st_nlink == 0;
}

} // namespace berth::guest
