#include "sandbox/session/condition_keys.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace berth::session {
namespace {

/// Which was given first makes no other machine: they are mounted in the order of their targets.
std::vector<sandbox::Mount> in_order(std::vector<sandbox::Mount> mounts)
{
    std::sort(mounts.begin(), mounts.end(),
              [](const sandbox::Mount& a, const sandbox::Mount& b) { return a.target < b.target; });
    return mounts;
}

constexpr std::array keys{
    ConditionKey{"e2b.allow_out", Change::none, true,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.outbound.allow == made.outbound.allow;
                 }},
    ConditionKey{"e2b.deny_out", Change::none, true,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.outbound.deny == made.outbound.deny;
                 }},
    ConditionKey{"filter.allow", Change::another, true,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.filter.allow == made.filter.allow;
                 }},
    ConditionKey{"filter.deny", Change::another, true,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.filter.deny == made.filter.deny;
                 }},
    ConditionKey{"filter.intercept", Change::another, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.filter.intercept == made.filter.intercept;
                 }},
    ConditionKey{"filter.max_sent", Change::another, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.filter.max_sent == made.filter.max_sent;
                 }},
    ConditionKey{"filter.private", Change::another, true,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.filter.inner == made.filter.inner;
                 }},
    ConditionKey{"filter.secret", Change::another, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.filter.secrets == made.filter.secrets;
                 }},
    ConditionKey{"local.cpus", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.limits.cpus == made.limits.cpus;
                 }},
    ConditionKey{"local.memory", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.limits.memory == made.limits.memory;
                 }},
    ConditionKey{"local.nofile", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.limits.nofile == made.limits.nofile;
                 }},
    ConditionKey{"local.pids", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.limits.pids == made.limits.pids;
                 }},
    ConditionKey{"mount", Change::another, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return in_order(wanted.mounts) == in_order(made.mounts);
                 }},
    ConditionKey{"network", Change::another, true,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.network == made.network;
                 }},
    ConditionKey{"output.spill_session", Change::none, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.limits.spill_session == made.limits.spill_session;
                 }},
    ConditionKey{"output.spill_stream", Change::none, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.limits.spill_stream == made.limits.spill_stream;
                 }},
    ConditionKey{"path_policy", Change::another, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.path_policy == made.path_policy;
                 }},
    ConditionKey{"session.calls", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.limits.calls == made.limits.calls;
                 }},
    ConditionKey{"session.home_retention", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.own_retention == made.own_retention &&
                            (!made.own_retention || wanted.home_retention == made.home_retention);
                 }},
    ConditionKey{"session.idle_pause", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.idle_pause == made.idle_pause;
                 }},
    ConditionKey{"session.jobs", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.limits.jobs == made.limits.jobs;
                 }},
    ConditionKey{"session.on_disconnect", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.on_disconnect == made.on_disconnect;
                 }},
    ConditionKey{"session.quota", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.limits.quota == made.limits.quota;
                 }},
    ConditionKey{"session.save_on_end", Change::live, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.save_on_end.patterns == made.save_on_end.patterns;
                 }},
    ConditionKey{
        "session.ttl", Change::live, false,
        [](const Settings& wanted, const Conditions& made) { return wanted.ttl == made.ttl; }},
    ConditionKey{"template", Change::another, false,
                 [](const Settings& wanted, const Conditions& made) {
                     return wanted.template_name == made.template_name;
                 }},
};

} // namespace

std::span<const ConditionKey> condition_keys() noexcept
{
    return keys;
}

} // namespace berth::session
