#pragma once

namespace berth::local {

/// Gives up every capability for ever: bounding, ambient, inheritable, permitted, effective; no
/// set-uid program and no file capability brings one back (no_new_privs).
void drop_privileges();

} // namespace berth::local
