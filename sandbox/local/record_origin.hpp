#pragma once

#include "sandbox/local/host.hpp"
#include "sandbox/local/local_machine.hpp"

#include <string>

namespace berth::local {

/// Whether the record is a copy's: the state directory that it names is another than `state`, where
/// it was found with a home, and has the session too. Its machine and its home are the original's,
/// which somebody who tries a copy out, or a backup, must not end or remove. One that was moved, or
/// is mounted elsewhere, has no other, also where somebody has made that state directory anew; and
/// a machine of another state directory that shared books tell of has no home here.
[[nodiscard]] bool is_of_copy(const MachineFacts& facts, const std::string& state);

/// Of one that was moved its socket went with it, where that is in the state directory: the record
/// with the path that it has now.
[[nodiscard]] sandbox::MachineRecord with_present_socket(const sandbox::MachineRecord& record,
                                                         const std::string& state);

/// The record that a server did not live to write: whatever may exist of the key's machine; an
/// empty one where the key can be of none. Throws std::system_error.
[[nodiscard]] sandbox::MachineRecord unrecorded_machine(const Host& host,
                                                        const std::string& key_hash);

} // namespace berth::local
