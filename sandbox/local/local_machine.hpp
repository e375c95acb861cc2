#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace berth::local {

/// What the record of a local machine holds, typed.
struct MachineFacts {
    pid_t pid = -1; ///< of the guest, on the host
    std::uint64_t start_time = 0;
    std::string boot;
    std::string socket_path;
    std::string state;  ///< the state directory
    std::string folder; ///< the name of the session's folder
    std::string note;   ///< which file its parting note is; empty: of an earlier release
    std::vector<std::string> cgroups; ///< of the session, one in each hierarchy
    std::vector<sandbox::Layer> layers;
    /// Sources of mounts, and the file_id() of each when it was mounted.
    std::vector<std::pair<std::string, std::string>> mounts;
    bool made_home = false; ///< as in the record
};

/// What is known before it is made. `state`: the state directory.
[[nodiscard]] MachineFacts facts_before(const sandbox::MachineSpec& spec, const std::string& state);

[[nodiscard]] sandbox::MachineRecord to_record(const std::string& id, const std::string& generation,
                                               const MachineFacts& facts);

/// What is missing or malformed stays empty: destroy() must work on what there is.
[[nodiscard]] MachineFacts facts_from(const sandbox::MachineRecord& record);

[[nodiscard]] std::unique_ptr<sandbox::Machine> make_machine(sandbox::MachineRecord record);

/// Tells a file or folder from another that takes its place later. Empty when it cannot be told,
/// and on what may be a network, which may not answer for hours: nothing shall wait for it.
[[nodiscard]] std::string file_id(const std::string& path);

/// Of what is open, wherever it is; empty when it cannot be told.
[[nodiscard]] std::string file_id(int file);

/// A pidfd of the machine's guest, if it still runs. Throws std::system_error when that cannot be
/// found out.
[[nodiscard]] UniqueFd open_guest(const MachineFacts& facts);

} // namespace berth::local
