#include "sandbox/local/own_proc.hpp"

#include <array>
#include <cerrno>
#include <cstddef>

#include <unistd.h>

namespace berth::local {

OwnProc look_at_proc(const std::string& root)
{
    std::array<char, 32> number{};
    const auto size = ::readlink((root + "/proc/self").c_str(), number.data(), number.size());
    if (size > 0) {
        const std::string self(number.data(), static_cast<std::size_t>(size));
        return self == std::to_string(::getpid()) ? OwnProc::ours : OwnProc::foreign;
    }
    if (errno != ENOENT) {
        return OwnProc::ours;
    }
    // One that does not know this process at all has no link "self".
    return ::access((root + "/proc/uptime").c_str(), F_OK) == 0 ? OwnProc::foreign
                                                                : OwnProc::missing;
}

} // namespace berth::local
