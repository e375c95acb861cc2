#pragma once

#include "sandbox/local/host.hpp"
#include "sandbox/local/local_machine.hpp"

#include <string>

namespace berth::local {

/// Whether the record is a copy's: it was found in `state` with a home, and its machine is another
/// state directory's, wherever that is by now, which somebody who tries a copy out, or a backup,
/// must not end or use. Known by the parting note of the machine that is noted here: of a copy it
/// is another file than the machine was given, and nobody has it locked; and where no machine is
/// noted, what the record tells of has ended, or is another's. Of a machine that was made by a
/// release that did not say which file that is, or of another than is noted, by the path: the state
/// directory that the record names is another, and has the session too. One that was moved, or is
/// mounted elsewhere, has no other, also where somebody has made that state directory anew; and a
/// machine of another state directory that shared books tell of has no home here.
[[nodiscard]] bool is_of_copy(const sandbox::MachineRecord& record, const std::string& state);

/// Whether another machine has the socket's name by now, and so the cgroups': of a session of the
/// same place, made since this one's state directory was moved away. Its own guest has ended.
[[nodiscard]] bool has_lost_its_name(const MachineFacts& facts, const std::string& state);

/// Of one that was moved its socket went with it, where that is in the state directory: the record
/// with the path that it has now.
[[nodiscard]] sandbox::MachineRecord with_present_socket(const sandbox::MachineRecord& record,
                                                         const std::string& state);

/// What a machine is called that is made now. The session's own name (machine_id()) may be that of
/// a living one which went elsewhere with its state directory, and its socket, and cgroups, would
/// be taken from it: then it has a name for itself. Throws std::system_error.
[[nodiscard]] std::string new_machine_id(const Host& host, const std::string& key_hash,
                                         const std::string& generation);

/// What the machine is called that is noted in the session's folder, or would be.
[[nodiscard]] std::string present_id(const std::string& state, const std::string& key_hash);

/// Whether somebody listens where the key's machine would, in whose folder one may live.
[[nodiscard]] bool listens_unrecorded(const Host& host, const std::string& key_hash);

/// The record that a server did not live to write: whatever may exist of the key's machine; an
/// empty one where the key can be of none. Throws std::system_error.
[[nodiscard]] sandbox::MachineRecord unrecorded_machine(const Host& host,
                                                        const std::string& key_hash);

} // namespace berth::local
