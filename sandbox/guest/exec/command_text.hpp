#pragma once

#include <string>

namespace berth::guest {

/// The text that a shell gets for a command. Two newlines more keep bash from replacing itself by
/// the last command: the shell is then the same process from beginning to end, ends the same way
/// whatever ran last, and its working directory is never that of `make -C`. Left out where they
/// would change the command: after a backslash, and in a here-document that has no end.
[[nodiscard]] std::string command_text(const std::string& command);

} // namespace berth::guest
