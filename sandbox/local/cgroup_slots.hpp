#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/local/cgroup_layout.hpp"

#include <string>
#include <string_view>

namespace berth::local {

// A machine whose guest-to-be was made before it was known of which has cgroups with a name of
// their own, a slot: those of v2 cannot be renamed, and to move a process into others the kernel
// takes 7 to 15 ms. The session's folder says which they are (SessionFolder::cgroup).

[[nodiscard]] std::string new_slot();

/// Whether it is one, and not a machine's id.
[[nodiscard]] bool is_slot(std::string_view name) noexcept;

/// Removes those whose guest(-to-be) has ended without anybody to remove them: its launcher and its
/// server were killed. Kills nobody, waits for nobody.
void remove_abandoned_slots(const CgroupLayout& layout, const Deadline& deadline);

} // namespace berth::local
