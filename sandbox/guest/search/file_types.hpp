#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::guest::search {

/// The globs of a file type (by name as ripgrep 13 has them, "py", "cpp" ...), on file names.
/// Throws Error(invalid_argument) with the nearest names for one that is not known.
[[nodiscard]] std::vector<std::string> file_type_globs(std::string_view type);

} // namespace berth::guest::search
