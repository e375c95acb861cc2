#pragma once

#include "sandbox/base/syscalls.hpp"

#include <sys/types.h>

namespace berth::local {

/// Where the C library keeps this thread's number; null where that cannot be found out.
[[nodiscard]] int* thread_number() noexcept;

/// clone3 as the C library's fork does it: the child's thread number is its own. Else its first
/// thread would keep its parent's, which one of its other threads may have in a new pid namespace,
/// and a recursive mutex would take the two for one. Without thread_number() the child keeps it,
/// and must have no other threads.
[[nodiscard]] pid_t clone_with_thread_number(clone_args args) noexcept;

} // namespace berth::local
