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

/// The environment of every command in a machine: built from nothing, then what the operator gave.
/// No variable of the server is in it. Without a network installers are told not to try again.
[[nodiscard]] std::map<std::string, std::string>
command_environment(const Account& account, const std::map<std::string, std::string>& extra,
                    Network network);

} // namespace berth::sandbox
