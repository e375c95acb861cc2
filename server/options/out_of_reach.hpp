#pragma once

#include "sandbox/backend.hpp"

#include <string>
#include <vector>

namespace berth::server {

/// The first part of `path`, links on the way followed, that a sandbox with these mounts could
/// replace or write; empty: none of it. What is not there yet counts as well. A relative path is
/// one from the working directory.
[[nodiscard]] std::string writable_part(const std::string& path,
                                        const std::vector<sandbox::Mount>& mounts);

/// Throws Error(invalid_argument) for a file of `settings`, or of `secrets`, that a sandbox with
/// these mounts could write, or put another file in the place of: the settings say what of this
/// host a sandbox has, and hold while the server runs; what a secret's path leads to, commands are
/// given.
void require_out_of_reach(const std::vector<std::string>& settings,
                          const std::vector<std::string>& secrets,
                          const std::vector<sandbox::Mount>& mounts);

} // namespace berth::server
