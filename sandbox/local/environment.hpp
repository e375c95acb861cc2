#pragma once

#include "sandbox/backend.hpp"

#include <map>
#include <string>
#include <string_view>

namespace berth::local {

inline constexpr std::string_view inner_home = "/home/user";
inline constexpr std::string_view inner_user = "user";
inline constexpr std::string_view inner_host_name = "berth";
/// Small programs of berth's own inside, after the session's and before the host's.
inline constexpr std::string_view inner_programs = "/etc/berth/bin";

/// The environment of every command: built from nothing, then what the operator gave. No variable
/// of the server is in it. Without a network installers are told not to try again.
[[nodiscard]] std::map<std::string, std::string>
command_environment(const std::map<std::string, std::string>& extra, sandbox::Network network);

} // namespace berth::local
