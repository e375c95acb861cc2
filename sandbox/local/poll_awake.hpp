#pragma once

#include <chrono>

#include <poll.h>

namespace berth::local {

/// Whether there is something to be read, an end or an error included: looks without sleep, for
/// what is to come within some 0.1 ms from a process that is at work on it: who sleeps on an idle
/// processor of a virtual machine is back 0.03 to 0.06 ms after it was woken. Only where that
/// process has another processor: on this one it could do nothing meanwhile. False when nothing has
/// come by then.
[[nodiscard]] inline bool poll_awake(int fd) noexcept
{
    pollfd what{fd, POLLIN, 0};
    constexpr std::chrono::microseconds longest{300};
    const auto end = std::chrono::steady_clock::now() + longest;
    do {
        if (::poll(&what, 1, 0) != 0) {
            return true;
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

} // namespace berth::local
