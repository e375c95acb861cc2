#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <array>
#include <string>
#include <vector>

namespace berth::local {

/// What a sandbox shows of this host, or of a template (template_files.hpp).
struct HostFiles {
    std::vector<Bind> binds;         ///< /usr, /opt, devices, parts of /etc
    std::vector<SymbolicLink> links; ///< /bin and its like, as the host has them
    std::string localtime_target;

    friend bool operator==(const HostFiles&, const HostFiles&) = default;
};

/// Of the host's /dev. No sandbox is made without one of them.
inline constexpr std::array device_names{"null", "zero", "full", "random", "urandom", "tty"};

/// `root`: "/" or, in tests, a directory that plays the host. Takes about 1 ms.
[[nodiscard]] HostFiles find_host_files(const std::string& root);

/// Adds the devices of `root`, as above.
void add_devices(const std::string& root, std::vector<Bind>& binds);

/// The host's present /etc/resolv.conf, for a sandbox with its network; of a filtered one what
/// names the stub of its proxy; else empty, and where it cannot be read.
[[nodiscard]] std::string resolv_conf_for(sandbox::Network network);

} // namespace berth::local
