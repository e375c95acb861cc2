#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/protocol/parting.hpp"

#include <optional>
#include <string>

// The host's side of a guest's note of why it ends itself, wherever a backend keeps it.

namespace berth::protocol {

/// Makes it anew at `path`, below `folder` where that is relative: the guest of an earlier machine
/// may have the old one open yet. Open for writing, for the guest. Throws std::system_error.
[[nodiscard]] UniqueFd make_parting_note(int folder, const std::string& path);

/// What it says; nothing where there is none, or it cannot be read.
[[nodiscard]] std::optional<Parting> read_parting_note(int folder,
                                                       const std::string& path) noexcept;

} // namespace berth::protocol
