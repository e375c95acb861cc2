#pragma once

#include <chrono>
#include <thread>

namespace berth::tests {

/// Waits until `condition` holds; false when it does not within half a minute.
template <class Condition>
bool becomes_true(Condition condition)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

} // namespace berth::tests
