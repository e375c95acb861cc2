#include "sandbox/local/launcher/process_name.hpp"

#include <cstring>

#include <sys/prctl.h>

namespace berth::local {

ProcessName::ProcessName(char* argument) noexcept
    : argument_(argument), size_(argument != nullptr ? std::strlen(argument) : 0)
{
}

void ProcessName::show(const char* name) const noexcept
{
    (void)::prctl(PR_SET_NAME, name);
    if (argument_ != nullptr) {
        std::memset(argument_, 0, size_);
        std::memcpy(argument_, name, strnlen(name, size_));
    }
}

} // namespace berth::local
