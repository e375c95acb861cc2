#pragma once

#include "sandbox/base/syscalls.hpp"

#include <span>

#include <linux/filter.h>
#include <sys/prctl.h>

namespace berth::tests {

/// For good, in this process and what it starts. False where the kernel does not take it.
inline bool install_seccomp_program(std::span<const sock_filter> program)
{
    sock_fprog filter{};
    filter.len = static_cast<unsigned short>(program.size());
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the kernel only reads it
    filter.filter = const_cast<sock_filter*>(program.data());
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && sys::seccomp_set_filter(filter) == 0;
}

} // namespace berth::tests
