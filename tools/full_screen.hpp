#pragma once

#include <string_view>

namespace berth::tools {

/// Whether what a command printed, with its escape sequences, places text on a screen by row and
/// column, or asks for a screen of its own: an editor or a pager that waits for keys. A progress
/// bar moves within its line, or some lines up.
[[nodiscard]] bool draws_screen(std::string_view printed) noexcept;

} // namespace berth::tools
