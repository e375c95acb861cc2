#pragma once

#include "sandbox/backend.hpp"

#include <string>
#include <vector>

namespace berth::server {

/// Throws Error(invalid_argument) for a file of `settings`, or of `secrets`, that a sandbox with
/// these mounts could write, or put another file in the place of: the settings say what of this
/// host a sandbox has, and hold while the server runs; what a secret's path leads to, commands are
/// given.
void require_out_of_reach(const std::vector<std::string>& settings,
                          const std::vector<std::string>& secrets,
                          const std::vector<sandbox::Mount>& mounts);

/// The same of files of the server's own that say who may call it, and what was done.
void require_own_out_of_reach(const std::vector<std::string>& files,
                              const std::vector<sandbox::Mount>& mounts);

} // namespace berth::server
