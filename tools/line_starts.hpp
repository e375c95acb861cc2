#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace berth::tools {

/// The next line with its end, if it has one.
std::string_view take_line(std::string_view& rest);

/// What berth has put in front of a text's lines, by line; 0: nothing.
using LineStarts = std::vector<std::size_t>;

/// Numbers, as read_file has them (`7<tab>`), and grep_files behind a path (`a/b:7:`, `a/b-8-`):
/// lines one behind the other have the same path and consecutive numbers. Empty: there are none.
[[nodiscard]] LineStarts numbered_starts(std::string_view text);

/// The signs of a unified diff. Empty: it is none.
[[nodiscard]] LineStarts diff_starts(std::string_view text);

} // namespace berth::tools
