#pragma once

#include "sandbox/local/blocker.hpp"

#include <string>

namespace berth::local {

/// What keeps this process from making or using namespaces, of which it was refused one with that
/// errno. Never empty. `root` is put before the paths in /proc, for tests.
[[nodiscard]] Blocker namespace_blocker(const std::string& root, int error);

} // namespace berth::local
