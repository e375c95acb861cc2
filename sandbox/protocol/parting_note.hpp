#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/protocol/parting.hpp"

#include <optional>
#include <string>

// The host's side of a guest's note of why it ends itself, wherever a backend keeps it.

namespace berth::protocol {

/// Makes it anew at `path`, below `folder` where that is relative: the guest of an earlier machine
/// may have the old one open yet. Open for writing, for the guest, and locked (flock(2)) until
/// nobody has the descriptor any more: that is the guest alone, once it was handed over. Throws
/// std::system_error.
[[nodiscard]] UniqueFd make_parting_note(int folder, const std::string& path);

/// Makes that of an empty file. Throws std::system_error.
void begin_parting_note(int note);

/// What it says from now on of a guest that is about to be ended from outside. Nothing is done
/// where there is none, or it cannot be written: the end is told as a loss then.
void change_parting_note(int folder, const std::string& path, Parting why) noexcept;

/// What it says; nothing where there is none, or it cannot be read.
[[nodiscard]] std::optional<Parting> read_parting_note(int folder,
                                                       const std::string& path) noexcept;

/// What follows that, of a guest that ended itself; empty where there is nothing, it cannot be
/// read, or it is too long. Whoever decodes it treats it as hostile.
[[nodiscard]] std::string read_last_words(int folder, const std::string& path) noexcept;

/// Whether its guest lives, in whatever namespace: it is locked yet at the deadline. False also
/// where there is none, one of an earlier release, which locked nothing, or a file system without
/// locks; true where nobody can look.
[[nodiscard]] bool is_parting_note_held(int folder, const std::string& path,
                                        const Deadline& deadline) noexcept;

/// Whether it is there and is one that surely no guest has: false, too, on a file system without
/// locks, and where nobody can look.
[[nodiscard]] bool is_parting_note_free(int folder, const std::string& path) noexcept;

} // namespace berth::protocol
