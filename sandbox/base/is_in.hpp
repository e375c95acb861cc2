#pragma once

#include <string_view>

namespace berth {

/// Whether a path is that folder or below it, by their text alone: both absolute and in their
/// simplest form, without a `/` at their end but for the root itself. /home/user2 is not in
/// /home/user.
[[nodiscard]] inline bool is_in(std::string_view path, std::string_view folder) noexcept
{
    return path.starts_with(folder) &&
           (path.size() == folder.size() || folder == "/" || path[folder.size()] == '/');
}

} // namespace berth
