#pragma once

#include "sandbox/local/local_machine.hpp"

#include <string>

namespace berth::local {

/// Whether the record is a copy's: the state directory that it names is another than `state`, where
/// it was found, and is there. Its machine and its home are the original's, which somebody who
/// tries a copy out, or a backup, must not end or remove. One that was moved, or is mounted
/// elsewhere, has no other.
[[nodiscard]] bool is_of_copy(const MachineFacts& facts, const std::string& state);

} // namespace berth::local
