#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/own_folders.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// Throws Error(invalid_argument) that says why when `directory` may be no sandbox's template: it
/// is no folder, or may not be shown (check_source()); one of `mounts` would let what runs in a
/// sandbox write to it, and with it to what all later ones run; or, where berth runs as root,
/// others than root may write to it or to a folder above it: the programs in it are run with what
/// every session has, its files and secrets.
void check_template(const std::string& directory, const std::vector<sandbox::Mount>& mounts,
                    const std::vector<OwnFolder>& own);

} // namespace berth::local
