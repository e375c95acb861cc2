#pragma once

#include <string>

namespace berth::local {

/// What keeps berth from giving each session a host uid of its own; empty where it can. That takes
/// root's capabilities and the uids `uid_base` to `uid_base + uid_count - 1` in this user
/// namespace: root of a container has mostly neither, and berth then works as for an ordinary user.
/// `root` is put before the paths in /proc, for tests.
[[nodiscard]] std::string no_own_uids(unsigned uid_base, unsigned uid_count,
                                      const std::string& root = "");

} // namespace berth::local
