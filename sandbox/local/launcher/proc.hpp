#pragma once

#include "sandbox/local/launcher/root.hpp"

namespace berth::local {

/// A new /proc of the child's own pid namespace.
void mount_proc(const Root& root);

/// Writes 0 to user.max_user_namespaces of the child's own user namespace, so that nothing inside
/// can make another in which it would have capabilities. False where that may not be written.
[[nodiscard]] bool close_nested_namespaces(const Root& root);

/// Covers what tells of, or changes, the host. After this /proc/sys cannot be written.
void mask_proc(const Root& root);

} // namespace berth::local
