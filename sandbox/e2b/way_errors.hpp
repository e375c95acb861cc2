#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/e2b/status_error.hpp"

namespace berth::e2b {

// What E2B, or what stands on the way there, has in the way of a call. A tool says by the same
// words what is wrong with its own files and arguments, so an agent would look there.

/// Of the control plane, and of the making of a machine. Where no answer came it may be tried
/// again: nothing of the call was given to a guest.
[[nodiscard]] Error as_of_the_way(const Error& error);

/// Of a wake, or with `runs` of more time for a sandbox that runs and has little left. Nothing was
/// given to the guest, and what is said of it may pass: that is not the end of the call's own time,
/// which the agent would take for that of its command.
[[nodiscard]] Error not_woken(const Error& error, bool runs);

/// Of envd, whose token is none that anybody could look for.
[[nodiscard]] Error as_of_envd(const StatusError& refusal);

} // namespace berth::e2b
