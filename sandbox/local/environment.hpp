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
/// What a sandbox trusts whose proxy opens TLS (trust_files.hpp).
inline constexpr std::string_view inner_certificates = "/etc/berth/certificates";

/// The environment of every command: built from nothing, then what the operator gave. No variable
/// of the server is in it. Without a network installers are told not to try again. `opens_tls`: its
/// proxy does, and programs are to trust it.
[[nodiscard]] std::map<std::string, std::string>
command_environment(const std::map<std::string, std::string>& extra, sandbox::Network network,
                    bool opens_tls);

} // namespace berth::local
