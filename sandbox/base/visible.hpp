#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// How a text that others wrote is shown within a line of berth's own, in every message, result and
// log alike: a file's name cannot pose as a line of ours, look like one that has other letters, nor
// move a cursor. It says how a text looks, not what it is: a backslash stays as it is, so that
// usual names do, and a name that has \x1b in four letters is shown as one with an ESC.

namespace berth {

/// For one line: each character that deceives (utf8::is_deceptive) is written with its number, C0
/// and DEL as \x1b, others as \u202e or \U000e0041, as bash's $'...' takes them; and so is each
/// byte that is not UTF-8, as \xff.
[[nodiscard]] std::string visible(std::string_view text);

/// visible() of no more than the first `bytes` of the text, which end with a whole character, and
/// `cut` behind them where that is not all of it: of a text that may be as long as a request.
[[nodiscard]] std::string visible_beginning(std::string_view text, std::size_t bytes,
                                            std::string_view cut = {});

/// Characters of visible(), for a text of several lines: newline and tab count as one each.
[[nodiscard]] std::size_t escaped_count(std::string_view text) noexcept;

} // namespace berth
