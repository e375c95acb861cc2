#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/session/key.hpp"

#include <string>

namespace berth::session {

/// Who shall have a session's home from now on, and what may be done for it.
struct Adoption {
    SessionId to; ///< named
    /// Its jobs are ended, and an unnamed one is taken from its server. Else it is refused.
    bool end_machine = false;
    bool any_principal = false; ///< also from another, or from nobody knows whom
    Deadline deadline;          ///< for the locks
};

/// What came of it.
struct Adopted {
    SessionId from; ///< whose it was, as the books had it; empty: they did not know
    std::string key;
    std::string home; ///< as Backend::find_home()
    bool ended_machine = false;
};

} // namespace berth::session
