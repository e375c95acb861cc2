#pragma once

#include "sandbox/base/io.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/exec/environment.hpp"
#include "sandbox/guest/exec/shim.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/messages.hpp"

#include <string>

#include <sys/types.h>

namespace berth::guest {

/// The shell that commands are given to.
struct ShellProgram {
    std::string path;
    bool is_bash = true;

    /// /bin/bash, /usr/bin/bash, else /bin/sh.
    [[nodiscard]] static ShellProgram find();
};

/// Throws Error (empty_command, invalid_argument, invalid_path) for what can never run.
void validate(const protocol::ExecuteRequest& request);

/// `request.workdir` made absolute by the session's directory and home.
[[nodiscard]] std::string absolute_workdir(const protocol::ExecuteRequest& request,
                                           const std::string& session_cwd, const std::string& home);

struct SpawnOptions {
    const protocol::ExecuteRequest& request;
    const protocol::GuestConfig& config; ///< its environment is not looked at
    const Environment& environment;
    const ShellProgram& shell;
    std::string workdir; ///< absolute
    int cgroup_fd = -1;
    std::uint64_t file_limit = 0; ///< bytes of a file; the command may lift it; 0: none
};

/// Made before the command, so that nothing which can fail is left to do once it runs. The guest's
/// ends do not block.
struct CommandPipes {
    explicit CommandPipes(bool with_input = false);

    Pipe report;
    Pipe output;
    Pipe error;
    Pipe input; ///< empty unless it was wanted
};

/// Starts shim and shell with one clone, and returns the shim's pid; its first report is yet to
/// come. Throws std::system_error (clone3's errno where it was the cgroup that refused).
[[nodiscard]] pid_t spawn(const SpawnOptions& options, const CommandPipes& pipes);

} // namespace berth::guest
