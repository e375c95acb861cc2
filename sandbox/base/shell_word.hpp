#pragma once

#include <string>
#include <string_view>

namespace berth {

/// The text as one word of a shell's command line, in single quotes.
[[nodiscard]] std::string shell_word(std::string_view text);

} // namespace berth
