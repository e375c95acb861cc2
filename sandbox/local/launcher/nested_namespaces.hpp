#pragma once

#include "sandbox/local/launcher/root.hpp"

namespace berth::local {

/// Writes 0 to user.max_user_namespaces of the child's own user namespace, so that nothing inside
/// can make another in which it would have capabilities. False where that may not be written.
[[nodiscard]] bool close_nested_namespaces(const Root& root);

} // namespace berth::local
