#pragma once

#include "sandbox/backend.hpp"

#include <map>
#include <string>

namespace berth::sandbox {

/// Whose commands they are.
struct Account {
    std::string home;
    std::string user;
    /// Folders of programs, "A:B", after those of the home and before those of the system.
    std::string programs = {};
};

/// In the folder of command_environment(), what programs are to trust: the authority of a proxy
/// that opens TLS, by itself, with the host's, and with those for java.
inline constexpr const char* own_authority_file = "authority.pem";
inline constexpr const char* all_authorities_file = "authorities.pem";
inline constexpr const char* java_authorities_file = "authorities.jks";

/// The environment of every command in a machine: built from nothing, then what the operator gave.
/// No variable of the server is in it. Without a network installers are told not to try again.
/// `certificates`: a folder with those files, as the machine has it; empty: TLS is opened nowhere.
[[nodiscard]] std::map<std::string, std::string>
command_environment(const Account& account, const std::map<std::string, std::string>& extra,
                    Network network, const std::string& certificates = {});

} // namespace berth::sandbox
