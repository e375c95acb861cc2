#pragma once

#include <string>

namespace berth::local {

/// Why a launch failed, for a human: what blocks it and the exact line that helps.
struct Blocker {
    std::string reason; ///< empty: nothing is known of it
    std::string remedy;
};

} // namespace berth::local
