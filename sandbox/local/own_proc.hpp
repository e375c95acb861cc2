#pragma once

#include <string>

namespace berth::local {

enum class OwnProc : unsigned char {
    ours,
    foreign, ///< of another PID namespace: /proc/<pid> of a process of ours is somebody else's
    missing,
};

/// Whose /proc is mounted. What cannot be told is taken for ours. `root` is put before the path,
/// for tests.
[[nodiscard]] OwnProc look_at_proc(const std::string& root = "");

} // namespace berth::local
