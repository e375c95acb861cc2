#pragma once

#include <set>
#include <string>

namespace berth::local {

/// Where in the hierarchies of cgroup v1 sessions have their cgroups, by controller: directories
/// that exist, empty for none. One hierarchy may have several controllers.
struct V1Bases {
    std::string memory;
    std::string pids;
    std::string cpu;
    std::string freezer; ///< where no v2 freezes

    friend bool operator==(const V1Bases&, const V1Bases&) = default;

    /// Each once, in order.
    [[nodiscard]] std::set<std::string> directories() const
    {
        std::set<std::string> all{memory, pids, cpu, freezer};
        all.erase("");
        return all;
    }
};

} // namespace berth::local
