#pragma once

#include "sandbox/local/launch_spec.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// What every sandbox shows of this host, found once for each server.
struct HostFiles {
    std::vector<Bind> binds;         ///< /usr, /opt, devices, parts of /etc
    std::vector<SymbolicLink> links; ///< /bin and its like, as the host has them
    std::vector<std::string> hidden; ///< inside of the binds, by their names in the sandbox
    std::string localtime_target;
};

/// What no sandbox may see of the trees that every sandbox has: an ordinary user's sandbox reads
/// what that user may read, and services have their home in /opt.
struct Private {
    std::vector<std::string> folders; ///< berth's own; also where only a part of one can be seen
    std::string home;                 ///< of whoever runs berth; may be empty
};

/// `root`: "/" or, in tests, a directory that plays the host. Takes about 1 ms. Throws
/// std::system_error where the host's mounts cannot be read.
[[nodiscard]] HostFiles find_host_files(const std::string& root, const Private& hidden = {});

/// The present /etc/resolv.conf; empty when it cannot be read.
[[nodiscard]] std::string host_resolv_conf();

} // namespace berth::local
