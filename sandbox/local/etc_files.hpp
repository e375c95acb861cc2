#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// The files of /etc that are written for the sandbox: of the host's they could tell who works
/// there, or name users that do not exist inside.
/// `resolv_conf`: resolv_conf_for() this network. The machine-id is empty: each machine's own is
/// mounted over it.
[[nodiscard]] std::vector<TextFile> generated_etc_files(sandbox::Network network,
                                                        const std::string& resolv_conf);

/// `localtime_target`: of the host's link; empty: UTC.
[[nodiscard]] std::vector<SymbolicLink> generated_etc_links(const std::string& localtime_target);

/// Programs that answer in the place of those that cannot work with one mapped user.
[[nodiscard]] std::vector<TextFile> substitute_programs();

/// `berth-connect HOST PORT`: standard input and output go there, through the proxy of a filtered
/// network. For programs that know no proxy but run another to connect, as ssh does (ProxyCommand).
[[nodiscard]] TextFile tunnel_program();

} // namespace berth::local
