#pragma once

#include <functional>

namespace berth::sandbox {

/// To do something to a session's machine. Throws where another server may have made that by now,
/// so that nothing of that one's is touched. Empty: nobody does.
using Right = std::function<void()>;

inline void require(const Right& right)
{
    if (right) {
        right();
    }
}

} // namespace berth::sandbox
