#pragma once

#include "sandbox/local/host_files.hpp"

#include <string>

namespace berth::local {

/// What a sandbox shows of a template, a folder of this host that holds a root file system, in the
/// place of the host's own programs: every folder at its top but those that a sandbox has of its
/// own, the links that lead to them, /var/lib and /var/cache, and of /etc all but users, names,
/// secrets and what berth writes. The devices are the host's.
///
/// No link of the template is followed here, nor where its parts are mounted: inside each is a link
/// again and leads to what is inside, while on the host it could lead to whatever its writer likes.
///
/// `directory`: as check_template() takes it. Throws Error(invalid_argument) where there is no
/// /bin/bash, without which no command could run, or more in /etc than a root can hold. Takes about
/// 1 ms.
[[nodiscard]] HostFiles find_template_files(const std::string& directory);

} // namespace berth::local
