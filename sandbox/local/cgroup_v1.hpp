#pragma once

#include "sandbox/local/handover.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// The v1 cgroups of one session, where limits are v1's: `guest` and `cmds` below
/// <base>/berth/<name> in each hierarchy. Made by the server while the launcher works on the rest.
/// All are joined by writing to files that are opened here. Removed by the destructor unless keep()
/// was called.
class V1Cgroups {
  public:
    /// Throws Failure.
    explicit V1Cgroups(const CgroupSpec& spec);
    ~V1Cgroups();
    V1Cgroups(const V1Cgroups&) = delete;
    V1Cgroups& operator=(const V1Cgroups&) = delete;

    /// The descriptors. Once only.
    [[nodiscard]] Handover take() noexcept { return std::move(files_); }

    void keep() noexcept { made_.clear(); }

  private:
    void make(const std::string& base, const CgroupSpec& spec);
    void remove() noexcept;

    std::vector<std::string> made_;
    Handover files_;
};

} // namespace berth::local
