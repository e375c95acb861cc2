#pragma once

#include <string>

namespace berth::guest {

/// `berth-guest reside FOLDER`, as root of a microVM: takes the configuration from its file in
/// `folder` (protocol/residence.hpp), which nobody but root may write, and leaves a guest behind
/// that works as the configuration's `user`, belongs to no terminal and holds none of this
/// process's descriptors. Returns once that one takes connections. Where it is there already, of
/// the same generation or with no new configuration, nothing is done: who got no answer may ask
/// again. Throws Error or std::system_error; what the guest said then is in it.
void reside(const std::string& folder);

} // namespace berth::guest
