#pragma once

#include "sandbox/base/deadline.hpp"

namespace berth {

/// flock(2) with LOCK_SH or LOCK_EX, by polling: there is none with a timeout, and a holder that
/// was stopped would stop everybody who waits without one. False when another holds it at the
/// deadline. Throws std::system_error.
[[nodiscard]] bool flock_until(int fd, int operation, const Deadline& deadline);

} // namespace berth
