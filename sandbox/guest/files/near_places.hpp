#pragma once

#include "sandbox/guest/files/document.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// Of a text that was looked for and not found.
struct WantedLines {
    std::vector<std::string> lines; ///< the first 200, of each the first walked_bytes
    bool complete = false;          ///< the last of them has a newline
    bool more = false;              ///< lines than that

    /// Whether this line may be a part of one: the first may begin in its middle, and the last end
    /// there, unless a newline follows it.
    [[nodiscard]] bool is_part(std::size_t i) const;

    /// Whether `actual` has this line where it must: at its end, its beginning, or as the whole.
    [[nodiscard]] bool same(std::size_t i, std::string_view actual) const;
};

[[nodiscard]] WantedLines wanted_lines(std::string_view text);

/// Without the blanks and carriage returns around it: by that lines are recognised.
[[nodiscard]] std::string_view bare_line(std::string_view line);

/// How much it says that a line is there: a closing brace less than a statement, an empty line
/// next to nothing. From 10 to 100.
[[nodiscard]] int weight_of_line(std::string_view bare);

/// Lines of a document among which a text may be best placed.
struct NearPlace {
    std::uint64_t first = 1;  ///< 1-based
    std::uint64_t behind = 1; ///< the last of them
    std::uint64_t anchor = 0; ///< one that is like a line of the text; 0: found by equal lines
    std::size_t wanted = 0;   ///< that line of the text, from 0
    unsigned percent = 0;     ///< how much alike these two are
    std::vector<std::string> actual; ///< the lines, fewer where the document ends
};

/// At most eight: where most lines of the text are near each other, and where its longest line has
/// something alike. Two passes over the first 32 MiB of the document; throws as its context when
/// the call is stopped.
[[nodiscard]] std::vector<NearPlace> near_places(const Document& document,
                                                 const WantedLines& wanted);

} // namespace berth::guest
