#pragma once

#include "sandbox/guest/files/near_places.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace berth::guest {

/// What a line of the document between two of the text costs, in percent of a line.
inline constexpr int added_line_cost = 30;

/// For each line of the text the line of the place (from 0) with which it is to be compared, in
/// order; none where it has no counterpart. As many equal lines meet as can without too many lines
/// of the document between them; the others meet in the order in which they come.
[[nodiscard]] std::vector<std::optional<std::size_t>> align_lines(const WantedLines& wanted,
                                                                  const NearPlace& place);

} // namespace berth::guest
