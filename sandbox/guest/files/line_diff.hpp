#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace berth::guest {

/// Lines with their newlines; a last one may be without.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

/// `removed` lines from `old_line` on (0-based) give way to `added` lines from `new_line` on.
struct LineChange {
    std::size_t old_line = 0;
    std::size_t removed = 0;
    std::size_t new_line = 0;
    std::size_t added = 0;
};

/// What makes the old lines the new ones, in order. The smallest set of changes for small inputs;
/// above a million pairs of lines that differ, one change for all between the first and the last
/// difference.
[[nodiscard]] std::vector<LineChange> diff_lines(const std::vector<std::string_view>& old_lines,
                                                 const std::vector<std::string_view>& new_lines);

} // namespace berth::guest
