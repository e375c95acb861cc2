#pragma once

#include "sandbox/local/handover.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/cgroup.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// All cgroups of a machine, of both versions, made before it is known of which: their name is
/// nobody's else. Removed by the destructor unless keep() was called, and it waits for who was
/// killed in them.
class CgroupsAhead {
  public:
    /// Throws Failure.
    explicit CgroupsAhead(const CgroupSpec& spec);
    ~CgroupsAhead();
    CgroupsAhead(const CgroupsAhead&) = delete;
    CgroupsAhead& operator=(const CgroupsAhead&) = delete;

    [[nodiscard]] const CgroupSpec& spec() const noexcept { return spec_; }

    /// Whether they are where that one's would be, and are called so.
    [[nodiscard]] bool fit(const CgroupSpec& wanted) const;

    /// Gives them the limits of one that they fit. Throws Failure.
    void limit(const CgroupSpec& wanted);

    [[nodiscard]] Cgroups& v2() noexcept { return v2_; }

    /// What the guest-to-be joins of v1 before it waits.
    [[nodiscard]] const std::vector<UniqueFd>& guest_tasks() const noexcept
    {
        return files_.guest_tasks;
    }

    /// What is handed over of them, but for what it joins before. Once.
    [[nodiscard]] Handover take();

    void keep() noexcept;

  private:
    CgroupSpec spec_;
    bool kept_ = false;
    Cgroups v2_;
    Handover files_;
};

} // namespace berth::local
