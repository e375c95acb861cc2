#pragma once

#include <string>

namespace berth::local {

/// realpath(3). Throws std::system_error.
[[nodiscard]] std::string real_path(const std::string& path);

} // namespace berth::local
