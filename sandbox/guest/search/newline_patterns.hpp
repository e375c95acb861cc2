#pragma once

#include <string_view>

namespace berth::guest::search {

/// Whether some part of `pattern` (valid RE2 syntax) can match a newline, which decides what a
/// count counts: ripgrep searches by lines, multiline or not, where none can.
[[nodiscard]] bool can_match_newline(std::string_view pattern);

} // namespace berth::guest::search
