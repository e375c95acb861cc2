#pragma once

#include <string>

namespace berth::local {

/// Where the sockets of guests are: $XDG_RUNTIME_DIR/berth or, as root, /run/berth; where neither
/// can be used, <state>/sockets. Made 0700 when missing. Throws std::system_error.
[[nodiscard]] std::string runtime_folder(const std::string& state, bool privileged);

} // namespace berth::local
