#pragma once

#include "sandbox/base/unique_fd.hpp"
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
    const protocol::GuestConfig& config;
    const ShellProgram& shell;
    std::string workdir;    ///< absolute
    bool fall_back = false; ///< to the home when the workdir is gone
    int cgroup_fd = -1;
};

/// A command on its way: the shim lives, its first report is yet to come.
struct Spawned {
    pid_t shim = -1;
    UniqueFd report; ///< non-blocking, as the two others
    UniqueFd output;
    UniqueFd error;
};

/// Starts shim and shell with one clone. Throws std::system_error (clone3's errno where it was the
/// cgroup that refused).
[[nodiscard]] Spawned spawn(const SpawnOptions& options);

} // namespace berth::guest
