#pragma once

#include <optional>
#include <string>

namespace berth {

/// realpath(3): where the path really is, links followed. Nothing with errno where it is not there,
/// or cannot be looked at.
[[nodiscard]] std::optional<std::string> real_path(const std::string& path);

} // namespace berth
