#pragma once

#include <cstddef>
#include <string_view>

namespace berth::guest {

/// What is behind a piece of text that is folded.
enum class Behind : unsigned char {
    more,     ///< the next piece
    anything, ///< the text is part of a longer one: blanks at its end are blanks
    nothing,  ///< the end of the file, and so of its last line
};

/// A longer run of blanks is not looked through to its end before it counts as one in a line.
inline constexpr std::size_t longest_blanks = 256 * 1024;

/// One sign of the folded text, and the bytes [begin, end) of the piece that it stands for.
struct FoldedSign {
    char sign = 0;
    std::size_t begin = 0;
    std::size_t end = 0;  ///< 0: cannot be told yet
    bool dropped = false; ///< it stands for nothing
};

/// Folds a text: a run of spaces and tabs is one space, and nothing at the end of a line; CRLF is a
/// newline; a typographic quote is the plain one of its kind. Calls `take(FoldedSign)` for each
/// sign and returns how much of the piece they stand for: what comes behind decides of the rest.
template <class Take>
std::size_t fold_text(std::string_view text, Behind behind, Take take);

/// Of the bytes at the beginning of `text`: the quote that they fold to, else 0.
[[nodiscard]] char plain_quote(std::string_view text) noexcept;

/// The sign that begins at `at`.
[[nodiscard]] FoldedSign fold_sign(std::string_view text, std::size_t at, Behind behind) noexcept;

template <class Take>
std::size_t fold_text(std::string_view text, Behind behind, Take take)
{
    std::size_t at = 0;
    while (at < text.size()) {
        const FoldedSign sign = fold_sign(text, at, behind);
        if (sign.end == 0) {
            break;
        }
        if (!sign.dropped) {
            take(sign);
        }
        at = sign.end;
    }
    return at;
}

} // namespace berth::guest
