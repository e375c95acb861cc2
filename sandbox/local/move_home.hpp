#pragma once

#include "sandbox/local/uid_range.hpp"

#include <string>

namespace berth::local {

/// Makes the home of the session folder `from` that of `to`, which has none, by one rename(2); with
/// the host uid that its files have, where sessions have some of their own. Neither has a machine;
/// under the locks of both. Whenever this process dies, the home is in one of the two folders, and
/// its uid goes with it. Throws Error: then too it is in one of the two, of which the Error tells.
void move_home(const std::string& state, const std::string& from, const std::string& to,
               const UidRange* uids);

} // namespace berth::local
