#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/local/session_folder.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// What the session's cgroups, socket and launcher are called: of the state directory too, for two
/// of them may know a session of the same name. With a generation it is the name of that machine
/// alone (new_machine_id()).
[[nodiscard]] std::string machine_id(const std::string& state, const std::string& key_hash,
                                     const std::string& generation = {});

/// The cgroup directories of the machine `id`, one in each hierarchy that is used.
[[nodiscard]] std::vector<std::string> session_cgroups(const CgroupLayout& layout,
                                                       const std::string& id);

/// Ends the guest of a record alone; what else there is of its machine stays. `state`: as
/// destroy_machine() has it. What became of the machine is noted there first: whoever comes to it
/// before the books have it would take it for a loss.
void end_guest(const sandbox::MachineRecord& record, const std::string& state);

/// Ends the machine of a record: its processes first, then cgroups, socket and temporary folders,
/// with `purge` the home and the host uid too. Of a record whose session has a later machine only
/// the process is ended. Idempotent. Throws Error(backend_error) when a process would not die, or
/// files cannot be removed; the rest is still there then, for the next attempt. `state`: the state
/// directory where the record was found, in which alone anything is removed: what the record says
/// of it may be the path that it once had, or that of the one which this is a copy of.
void destroy_machine(const sandbox::MachineRecord& record, const std::string& state, bool purge,
                     bool privileged);

/// Removes the home and the kernel's limit of it, then gives its host uid back. `name` is the
/// folder's below sessions in the state directory, `state` a descriptor of that. False when
/// something is left; the uid stays taken then.
[[nodiscard]] bool remove_home(const SessionFolder& folder, const std::string& name, int state,
                               bool privileged);

} // namespace berth::local
