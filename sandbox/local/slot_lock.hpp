#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/v1_bases.hpp"

#include <string>

namespace berth::local {

/// Held by whoever makes cgroups that are called by a slot (cgroup_slots.hpp), until a guest is in
/// them: without one they look like those that are nobody's any more, and who clears these away,
/// which is done under the same lock, would take them from under a machine that is being made.
/// A flock(2) of the hierarchy's folder in which berth makes its own.
class SlotLock {
  public:
    /// Holds nothing where there are no cgroups. Waits for who clears up, which takes a moment, and
    /// no longer than two seconds for one who was stopped meanwhile.
    SlotLock(const std::string& v2_base, const V1Bases& v1);
    /// For all who have inherited its descriptor.
    ~SlotLock();
    SlotLock(const SlotLock&) = delete;
    SlotLock& operator=(const SlotLock&) = delete;

    /// For who clears up; false where somebody makes some: the next one clears up.
    [[nodiscard]] bool take_alone() noexcept;

  private:
    UniqueFd folder_;
};

} // namespace berth::local
