#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// What the generated files depend on.
struct EtcInput {
    sandbox::Network network = sandbox::Network::none;
    std::string host_resolv_conf; ///< content; used with network host only
    std::string localtime_target; ///< of the host's link; empty: UTC
    std::string machine_id;       ///< 32 hex digits, of this machine only
};

/// The files of /etc that are written for the sandbox: of the host's they could tell who works
/// there, or name users that do not exist inside.
[[nodiscard]] std::vector<TextFile> generated_etc_files(const EtcInput& input);
[[nodiscard]] std::vector<SymbolicLink> generated_etc_links(const EtcInput& input);

/// Programs that answer in the place of those that cannot work with one mapped user.
[[nodiscard]] std::vector<TextFile> substitute_programs();

} // namespace berth::local
