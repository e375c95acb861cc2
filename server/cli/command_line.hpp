#pragma once

#include "server/options/options.hpp"

#include <optional>
#include <string>

namespace berth::server::cli {

/// What the user typed.
struct CommandLine {
    /// serve, call, sessions-list, -kill, -show, -pause, -resume, -adopt, -gc, status, doctor,
    /// config, token, version
    std::string command;
    Given given;
    std::string tool;
    std::optional<std::string> arguments; ///< JSON, or "-" for standard input; none was given
    std::string key;                      ///< of a session
    std::string token_of;                 ///< a principal
    bool json = false;
    bool purge = false;
    bool no_save = false;
    bool end_machine = false;
    std::optional<std::string> homes_older_than; ///< a duration
};

/// Null after `--help` or a mistake has been answered; `exit_status` then says with what to exit.
[[nodiscard]] std::optional<CommandLine> parse(int argc, const char* const* argv, int& exit_status);

} // namespace berth::server::cli
