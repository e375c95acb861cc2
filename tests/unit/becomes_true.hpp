#pragma once

#include <chrono>
#include <thread>

namespace berth::tests {

/// Waits until `condition` holds; false when it does not within half a minute.
template <class Condition>
bool becomes_true(Condition condition)
{
    for (int i = 0; i < 6000; ++i) {
        if (condition()) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

} // namespace berth::tests
