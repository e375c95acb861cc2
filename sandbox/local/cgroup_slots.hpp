#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>
#include <string_view>

namespace berth::local {

// A machine whose guest-to-be was made before it was known of which has cgroups with a name of
// their own, a slot: those of v2 cannot be renamed, and to move a process into others the kernel
// takes 7 to 15 ms. The session's folder says which they are (SessionFolder::cgroup).

/// A machine's, and its cgroups' where that is another.
struct Names {
    const std::string& id;
    const std::string& slot; ///< empty: they have the machine's
};

[[nodiscard]] std::string new_slot();

/// Whether it is one, and not a machine's id.
[[nodiscard]] bool is_slot(std::string_view name) noexcept;

/// Removes those whose guest(-to-be) has ended without anybody to remove them: its launcher and its
/// server were killed. Kills nobody, waits for nobody. It may take away one that no guest is in
/// yet, and no other: its launcher makes it again when it is wanted, or fails (is_lost_slot()).
void remove_abandoned_slots(const CgroupLayout& layout, const Deadline& deadline);

/// Whether a launch that failed may have done so because somebody took its slot for an abandoned
/// one. No lock keeps them apart: servers may share cgroups and no folder.
[[nodiscard]] bool is_lost_slot(const LaunchResult& result) noexcept;

/// A machine was not made whose cgroups somebody took for abandoned ones: it can be, in others.
class SlotLost : public Error {
  public:
    explicit SlotLost(const Error& error) : Error(error) {}
};

} // namespace berth::local
