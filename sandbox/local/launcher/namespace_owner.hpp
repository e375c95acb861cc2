#pragma once

#include "sandbox/base/syscalls.hpp"

#include <sys/types.h>

namespace berth::local {

/// As root: clone_with_thread_number() with a new user namespace among the flags. What is used up
/// in it the kernel counts for its owner too, so that is a number of its own, by the launcher's
/// pid, which no account has, no session and no file: neither root's programs nor other sessions
/// can be left without. Root itself is the owner, as without this, where that number does not exist
/// (a container) or where it has not CAP_SYS_PTRACE, and needs what an owner may. The child has
/// file rights as root has them. Throws Failure where this process does not come back.
[[nodiscard]] pid_t clone_with_own_account(const clone_args& args);

} // namespace berth::local
