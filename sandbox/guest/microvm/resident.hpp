#pragma once

#include <string>

namespace berth::guest {

/// What the process table shows of a guest that is resident, and of nobody who waits to start one:
/// at most 15 bytes.
inline constexpr const char* resident_name = "berth-resident";

/// `berth-guest reside FOLDER`, as root of a microVM: takes the configuration from its file in
/// `folder` (protocol/residence.hpp), which nobody but root may write, and leaves a guest behind
/// that works as the configuration's `user`, belongs to no terminal and holds none of this
/// process's descriptors. Returns once that one takes connections. Where it is there already, of
/// the same generation or with no new configuration, nothing is done: who got no answer may ask
/// again. One of another generation is of an earlier machine of the session and ends before, with
/// all that any guest has left running, and what was printed there goes. Throws Error or
/// std::system_error; what the guest said then is in it.
void reside(const std::string& folder);

/// `berth-guest evict FOLDER`: evict_guests(folder), while nobody is coming to reside there.
void vacate(const std::string& folder);

} // namespace berth::guest
