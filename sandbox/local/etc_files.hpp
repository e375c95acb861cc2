#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// The files of /etc that are written for the sandbox: of the host's they could tell who works
/// there, or name users that do not exist inside.
[[nodiscard]] std::vector<TextFile> generated_etc_files(sandbox::Network network);

/// Those that differ from machine to machine. The content of the host's resolv.conf is used with
/// network host only; `machine_id`: 32 hex digits.
[[nodiscard]] std::vector<TextFile> machine_files(sandbox::Network network,
                                                  const std::string& host_resolv_conf,
                                                  const std::string& machine_id);

/// `localtime_target`: of the host's link; empty: UTC.
[[nodiscard]] std::vector<SymbolicLink> generated_etc_links(const std::string& localtime_target);

/// Programs that answer in the place of those that cannot work with one mapped user.
[[nodiscard]] std::vector<TextFile> substitute_programs();

} // namespace berth::local
