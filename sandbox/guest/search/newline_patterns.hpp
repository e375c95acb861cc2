#pragma once

#include <string_view>

namespace berth::guest::search {

/// Whether some part of `pattern` (valid RE2 syntax) can match a newline, which decides what a
/// count counts: ripgrep searches by lines, multiline or not, where none can.
[[nodiscard]] bool can_match_newline(std::string_view pattern);

/// Whether `pattern` has a newline in it that must be there, as itself or as \n, \x0a and the like:
/// line by line it can match nothing. One in a `[...]` with others is no such thing, nor in
/// `[^\n]`.
[[nodiscard]] bool asks_for_newline(std::string_view pattern);

/// Whether `pattern` tells the ends of the text from those of its lines, with \A, \z or (?-m), or
/// goes beyond them, with \C: what is searched by lines has to be given to RE2 line by line. May
/// say so of one that does not.
[[nodiscard]] bool tells_text_from_lines(std::string_view pattern);

} // namespace berth::guest::search
