#include "sandbox/local/launcher/process_name.hpp"

#include <cstring>

#include <sys/prctl.h>

namespace berth::local {

ProcessName::ProcessName(char* argument) noexcept : argument_(argument) {}

void ProcessName::show(const char* name) const noexcept
{
    (void)::prctl(PR_SET_NAME, name);
    if (argument_ != nullptr) {
        const auto size = std::strlen(argument_);
        std::memset(argument_, 0, size);
        std::memcpy(argument_, name, strnlen(name, size));
    }
}

} // namespace berth::local
