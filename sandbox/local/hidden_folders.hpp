#pragma once

#include "sandbox/local/launch_spec.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// What no sandbox may see of the trees that every sandbox has: an ordinary user's sandbox reads
/// what that user may read, and services have their home in /opt.
struct Private {
    std::vector<std::string> folders; ///< berth's own; also where only a part of one can be seen
    std::string home;                 ///< of whoever runs berth; may be empty
};

/// Where in `binds` something of that can be seen at present: for RootParts::hidden. A home is
/// hidden below what is optional (/opt), elsewhere only where it belongs to this user: the home of
/// many a service is a folder of programs in /usr. What is missing of `folders` is made: later it
/// could not be covered in the machines that run by then; `made` (if given) tells whether one was.
/// Takes well below 1 ms. Throws std::system_error where the host's mounts cannot be read.
[[nodiscard]] std::vector<Cover> find_hidden(const std::vector<Bind>& binds, const Private& wanted,
                                             bool* made = nullptr);

} // namespace berth::local
