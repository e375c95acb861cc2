#pragma once

#include "sandbox/backend.hpp"

#include <string>

// A guest in another pid namespace, with its socket in another /run, as that of another container
// which has the same state directory: neither can be seen here. That it lives its note's lock says.

namespace berth::local {

/// Whether a guest of the session lives, wherever; of that generation, if one is given. Of one that
/// is being killed that may hold for a moment yet.
[[nodiscard]] bool lives_unseen(const std::string& state, const std::string& key_hash,
                                const std::string& generation = {});
/// By the record's key: what it says of itself may be another's word, in shared books.
[[nodiscard]] bool lives_unseen(const std::string& state, const sandbox::MachineRecord& record);

/// For who has looked for it and has killed what there was. Waits that moment. Throws
/// Error(sandbox_unavailable): nothing may be made in, or removed from, what it lives in.
void require_none_unseen(const std::string& state, const std::string& key_hash,
                         const std::string& generation = {});
void require_none_unseen(const std::string& state, const sandbox::MachineRecord& record);

} // namespace berth::local
