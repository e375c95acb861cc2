#include "sandbox/session/condition_keys.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace berth::session {
namespace {

using sandbox::Filter;
using sandbox::Limits;
using sandbox::Outbound;

/// Which was given first makes no other machine: they are mounted in the order of their targets.
std::vector<sandbox::Mount> in_order(std::vector<sandbox::Mount> mounts)
{
    std::sort(mounts.begin(), mounts.end(),
              [](const sandbox::Mount& a, const sandbox::Mount& b) { return a.target < b.target; });
    return mounts;
}

template <auto Member>
bool is_same(const Settings& wanted, const Conditions& made)
{
    return wanted.*Member == made.*Member;
}

/// The same of a member of a member.
template <auto Part, auto Member>
bool is_same_in(const Settings& wanted, const Conditions& made)
{
    return wanted.*Part.*Member == made.*Part.*Member;
}

constexpr std::array keys{
    ConditionKey{"e2b.allow_out", Change::none, true,
                 is_same_in<&Conditions::outbound, &Outbound::allow>},
    ConditionKey{"e2b.deny_out", Change::none, true,
                 is_same_in<&Conditions::outbound, &Outbound::deny>},
    ConditionKey{"filter.allow", Change::another, true,
                 is_same_in<&Conditions::filter, &Filter::allow>},
    ConditionKey{"filter.deny", Change::another, true,
                 is_same_in<&Conditions::filter, &Filter::deny>},
    ConditionKey{"filter.intercept", Change::another, false,
                 is_same_in<&Conditions::filter, &Filter::intercept>},
    ConditionKey{"filter.max_sent", Change::another, false,
                 is_same_in<&Conditions::filter, &Filter::max_sent>},
    ConditionKey{"filter.private", Change::another, true,
                 is_same_in<&Conditions::filter, &Filter::inner>},
    ConditionKey{"filter.secret", Change::another, false,
                 is_same_in<&Conditions::filter, &Filter::secrets>},
    ConditionKey{"local.cpus", Change::live, false, is_same_in<&Conditions::limits, &Limits::cpus>},
    ConditionKey{"local.memory", Change::live, false,
                 is_same_in<&Conditions::limits, &Limits::memory>},
    ConditionKey{"local.nofile", Change::live, false,
                 is_same_in<&Conditions::limits, &Limits::nofile>},
    ConditionKey{"local.pids", Change::live, false, is_same_in<&Conditions::limits, &Limits::pids>},
    ConditionKey{"mount", Change::another, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return in_order(wanted.mounts) == in_order(made.mounts);
                 }},
    ConditionKey{"network", Change::another, true, is_same<&Conditions::network>},
    ConditionKey{"output.spill_session", Change::none, false,
                 is_same_in<&Conditions::limits, &Limits::spill_session>},
    ConditionKey{"output.spill_stream", Change::none, false,
                 is_same_in<&Conditions::limits, &Limits::spill_stream>},
    ConditionKey{"path_policy", Change::another, false, is_same<&Conditions::path_policy>},
    ConditionKey{"session.calls", Change::live, false,
                 is_same_in<&Conditions::limits, &Limits::calls>},
    ConditionKey{"session.home_retention", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.own_retention == made.own_retention &&
                            (!made.own_retention || wanted.home_retention == made.home_retention);
                 }},
    ConditionKey{"session.idle_pause", Change::live, false, is_same<&Conditions::idle_pause>},
    ConditionKey{"session.jobs", Change::live, false,
                 is_same_in<&Conditions::limits, &Limits::jobs>},
    ConditionKey{"session.on_disconnect", Change::live, false, is_same<&Conditions::on_disconnect>},
    ConditionKey{"session.quota", Change::live, false,
                 is_same_in<&Conditions::limits, &Limits::quota>},
    ConditionKey{"session.save_on_end", Change::live, false,
                 is_same_in<&Conditions::save_on_end, &SaveOnEnd::patterns>},
    ConditionKey{"session.ttl", Change::live, false, is_same<&Conditions::ttl>},
    ConditionKey{"template", Change::another, false, is_same<&Conditions::template_name>},
};

} // namespace

std::span<const ConditionKey> condition_keys() noexcept
{
    return keys;
}

} // namespace berth::session
