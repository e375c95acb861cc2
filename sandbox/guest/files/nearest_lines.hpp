#pragma once

#include "sandbox/guest/files/document.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// A place in a document that is much like a text that was not found.
struct NearLines {
    std::uint64_t line = 0;             ///< 1-based, where the text would begin
    unsigned percent = 0;               ///< how much alike
    std::uint64_t first_difference = 0; ///< the first line that differs
    std::string actual;                 ///< that line, without its end, shortened
    std::string difference;             ///< how it does, a verb first: "differs in ..."
};

/// The places most like `text`, at most three, best first; none when nothing is half alike. Lines
/// that the text has more or less than the document count as different. Bounded in memory and time:
/// of a very large document only the first 32 MiB are looked at.
[[nodiscard]] std::vector<NearLines> nearest_lines(const Document& document, std::string_view text);

} // namespace berth::guest
