#pragma once

#include <string>

namespace berth::guest {

// What a command gets in its environment, secrets of the operator's among it, goes through the
// guest's memory: whoever takes the guest over, or reads the host's swap, shall find those of the
// commands that are being started and of no earlier one.

/// From here on whatever this thread frees is overwritten first, by whomever and however often it
/// was copied: of the loop's thread, by which commands come and are started; those of workers have
/// no part in it and would pay for it. Not in builds with a sanitizer, and not in other programs
/// than the guest's, whose `delete` is the C++ library's.
void wipe_what_is_freed() noexcept;

/// Whether this thread does. For wiping_delete.cpp.
[[nodiscard]] bool wipes_what_is_freed() noexcept;

/// Overwrites what functions that have returned have left of their local variables, 16 KiB: a
/// short string is in there itself.
void wipe_stack() noexcept;

} // namespace berth::guest
