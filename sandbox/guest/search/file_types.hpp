#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::guest::search {

/// The globs of a file type (by name as ripgrep 13 has them, "py", "cpp" ...), on file names.
/// Throws Error(invalid_argument) for one that is not known, with the types that it can mean: those
/// of a file with that ending ("rs"), what others call by that name ("python"), else the nearest.
[[nodiscard]] std::vector<std::string> file_type_globs(std::string_view type);

} // namespace berth::guest::search
