#pragma once

#include "sandbox/protocol/frame.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace berth::test {

/// A frame of a file in tests/unit/protocol/golden/, whose README says what is in them.
struct GoldenFrame {
    bool by_host = false;
    std::string bytes; ///< as it went over the connection
    protocol::Frame frame;
    std::vector<std::string> differs;
};

/// Throws std::runtime_error for a file that is not as the README says.
[[nodiscard]] std::vector<GoldenFrame> golden_transcript(const std::string& name);

/// What a reader of that release misses in `now`, or finds other than in `then`; empty if nothing:
/// fields that it does not know do not count.
[[nodiscard]] std::string missing_of(std::string_view then, std::string_view now,
                                     const std::vector<std::string>& differs);

} // namespace berth::test
