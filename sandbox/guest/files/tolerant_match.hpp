#pragma once

#include "sandbox/guest/files/document.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// What a text and the place that it is meant for may differ in, and nothing else.
enum class Tolerance : unsigned {
    tabs = 1,            ///< blanks written as tabs here and as spaces there
    trailing_blanks = 2, ///< at the end of a line
    line_ends = 4,       ///< LF and CRLF
    quotes = 8,          ///< typographic and plain ones of the same kind
};

/// Their names in a fixed order, for messages: "tabs", "trailing blanks" ...
[[nodiscard]] std::vector<std::string> names_of(unsigned tolerances);

struct TolerantMatch {
    std::uint64_t begin = 0;
    std::string actual;    ///< what the document has there
    unsigned through = 0;  ///< a set of Tolerance: what differs
    bool open_end = false; ///< the document ends there without the newline that the text has
};

/// Whether nothing differs but the ends of lines, which of whole lines mean nothing: whoever wrote
/// them does not know how they end in a file of both kinds.
[[nodiscard]] constexpr bool is_exact_in_lines(unsigned through) noexcept
{
    return (through & ~static_cast<unsigned>(Tolerance::line_ends)) == 0;
}

struct TolerantQuery {
    std::string_view text;
    std::size_t most = 1; ///< places
    /// The text, which ends with a newline, is whole lines of the document; the last of these may
    /// be without a newline.
    bool whole_lines = false;
    /// Nothing is looked for behind a place that is_exact_in_lines().
    bool to_exact = false;
};

/// Of a document's original.
struct TextRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Longer texts are not looked for in this way.
inline constexpr std::size_t longest_tolerant = 256 * 1024;

/// Where the text occurs in the document but for differences of the kinds above, or as it is, in
/// order. Of spaces alone the number counts: it is another indentation, which in Python
/// means something else; so is one that no width of a tab explains. Only the first and the last
/// blanks of a text that is not whole lines may be a part of those that are there, as for a text
/// that occurs as it is; those of the document in front of a line's end are a part of that end. One
/// may overlap the one before it, so that who wants the only place learns of both. Memory: some
/// fifty times the text's, and what is returned. Throws Error(too_large) where text repeats itself
/// beyond bounds.
[[nodiscard]] std::vector<TolerantMatch> find_tolerant(const Document& document,
                                                       const TolerantQuery& query);

/// As that, for whole lines, in parts of a document's original: whole lines each, in order and
/// apart.
[[nodiscard]] std::vector<TolerantMatch> find_tolerant(OriginalReader& original,
                                                       const TolerantQuery& query,
                                                       const std::vector<TextRange>& ranges);

/// What takes a match's place: `new_text`, in which lines that stay are those of the document, and
/// the others are indented and ended like them. `line_end`: of the line that the match ends within;
/// empty where it ends with a line, or the document does.
[[nodiscard]] std::string tolerant_replacement(std::string_view old_text, std::string_view new_text,
                                               const TolerantMatch& match,
                                               std::string_view line_end = {});

} // namespace berth::guest
