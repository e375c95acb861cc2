#pragma once

namespace berth::local {

/// Gives up every capability for whatever is executed from here on. Before drop_privileges().
void drop_bounding_set();

/// Gives up every capability for ever: ambient, inheritable, permitted, effective; no set-uid
/// program and no file capability brings one back (no_new_privs).
void drop_privileges();

} // namespace berth::local
