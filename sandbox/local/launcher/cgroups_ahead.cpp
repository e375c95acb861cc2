#include "sandbox/local/launcher/cgroups_ahead.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/local/cgroup_files.hpp"
#include "sandbox/local/cgroup_tree.hpp"
#include "sandbox/local/cgroup_v1.hpp"

#include <chrono>
#include <utility>

namespace berth::local {
namespace {

void remove_v1(const CgroupSpec& spec) noexcept
{
    for (const auto& base : spec.v1.directories()) {
        const auto path = cgroup::session_path(base, spec);
        remove_cgroup(path, Deadline::after(std::chrono::seconds(2)));
        remove_abandoned(base + "/berth");
    }
}

Handover make_v1(const CgroupSpec& spec)
{
    try {
        return make_v1_cgroups(spec, V1Share::all);
    } catch (...) {
        remove_v1(spec);
        throw;
    }
}

} // namespace

CgroupsAhead::CgroupsAhead(const CgroupSpec& spec)
    : spec_(spec), v2_(spec), files_(v2_.make_for_commands())
{
    add_to(files_, make_v1(spec));
}

CgroupsAhead::~CgroupsAhead()
{
    if (!kept_) {
        remove_v1(spec_);
    }
}

bool CgroupsAhead::fit(const CgroupSpec& wanted) const
{
    CgroupSpec limited = spec_;
    limited.memory = wanted.memory;
    limited.guest_memory = wanted.guest_memory;
    limited.pids = wanted.pids;
    limited.cpu_quota = wanted.cpu_quota;
    return limited == wanted;
}

void CgroupsAhead::limit(const CgroupSpec& wanted)
{
    if (wanted != spec_) {
        spec_ = wanted;
        v2_.limit(spec_);
        limit_v1_cgroups(spec_);
    }
}

Handover CgroupsAhead::take()
{
    files_.guest_tasks.clear();
    return std::move(files_);
}

void CgroupsAhead::keep() noexcept
{
    kept_ = true;
    v2_.keep();
}

} // namespace berth::local
