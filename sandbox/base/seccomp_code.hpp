#pragma once

// Instructions of a system call filter (seccomp(2), SECCOMP_SET_MODE_FILTER), for what libseccomp
// cannot say or where it is not to be had. Jumps count the instructions that are skipped.

#include <cstddef>
#include <cstdint>

#include <linux/filter.h>
#include <linux/seccomp.h>

namespace berth::seccomp {

inline sock_filter statement(unsigned code, std::uint32_t value)
{
    return {static_cast<std::uint16_t>(code), 0, 0, value};
}

inline sock_filter jump(unsigned code, std::uint32_t value, unsigned if_true, unsigned if_false)
{
    return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
            static_cast<std::uint8_t>(if_false), value};
}

/// A 32-bit word of seccomp_data.
inline sock_filter load(std::size_t offset)
{
    return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

/// The low half of an argument: of an int the kernel looks at no more, so neither may a filter.
inline sock_filter load_argument(unsigned index)
{
    constexpr std::size_t low_half = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
    return load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t) + low_half);
}

/// The other one: a pointer is nullptr only where both are 0.
inline sock_filter load_upper_half(unsigned index)
{
    constexpr std::size_t upper_half = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 4 : 0;
    return load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t) + upper_half);
}

/// With 0 as if it had been done.
inline sock_filter refuse(int error)
{
    return statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error));
}

inline sock_filter allow()
{
    return statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

inline sock_filter kill_process()
{
    return statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
}

} // namespace berth::seccomp
