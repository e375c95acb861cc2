#pragma once

#include "tools/tool.hpp"

#include <string>
#include <string_view>

namespace berth::tools {

/// For a picture that is too large to be shown: how many pixels it has, as far as its `beginning`
/// tells, and the command that makes a smaller copy with a program that the sandbox has.
[[nodiscard]] std::string picture_advice(Context& context, const std::string& path,
                                         std::string_view beginning, std::string_view mime_type);

/// The command for one of the programs that are looked for; empty for any other word.
[[nodiscard]] std::string shrinking_command(std::string_view program, std::string_view path,
                                            std::string_view mime_type);

} // namespace berth::tools
