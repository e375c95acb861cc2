#pragma once

#include "sandbox/backend.hpp"

#include <string>
#include <vector>

namespace berth::session {

/// The first part of `path`, links on the way followed, that a sandbox with these mounts could
/// replace or write; empty: none of it. What is not there yet counts as well. By where things lie
/// in their file systems: a bind mount gives one folder several names. A relative path is one from
/// the working directory.
[[nodiscard]] std::string writable_part(const std::string& path,
                                        const std::vector<sandbox::Mount>& mounts);

} // namespace berth::session
