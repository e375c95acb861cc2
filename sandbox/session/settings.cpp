#include "sandbox/session/settings.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/session/condition_keys.hpp"
#include "sandbox/session/within_reach.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include <unistd.h>

namespace berth::session {

namespace {

std::string flag_of(const sandbox::Mount& mount)
{
    return "--mount " + mount.source + ':' + mount.target + (mount.writable ? ":rw" : ":ro");
}

/// What a server that runs takes of later settings as it is, beside the conditions.
auto taken_as_it_is(auto& settings)
{
    return std::tie(settings.mounts_read_only, settings.out_of_reach, settings.setup.commands,
                    settings.setup.timeout, settings.max_sessions,
                    settings.max_sessions_per_principal, settings.told_retention);
}

} // namespace

Settings with_later(Settings running, const Settings& later)
{
    const auto workspace = running.save_on_end.workspace;
    const bool was_told = running.told_retention.has_value();
    static_cast<Conditions&>(running) = static_cast<const Conditions&>(later);
    running.save_on_end.workspace = workspace;
    running.make_workspace = later.make_workspace;
    running.asked.insert(later.asked.begin(), later.asked.end());
    taken_as_it_is(running) = taken_as_it_is(later);
    if (was_told && !running.told_retention) {
        running.told_retention = Conditions().home_retention;
    }
    return running;
}

bool is_same(const Settings& running, const Settings& later)
{
    const auto taken = with_later(running, later);
    return static_cast<const Conditions&>(taken) == running && taken.asked == running.asked &&
           taken_as_it_is(taken) == taken_as_it_is(running);
}

std::chrono::seconds usual_retention(const Settings& settings)
{
    // A profile that keeps homes for an hour says nothing of those of others.
    return settings.own_retention ? settings.told_retention.value_or(Conditions().home_retention)
                                  : settings.home_retention;
}

std::string own_name(const Settings& settings)
{
    return "pid " + std::to_string(::getpid()) +
           (settings.place ? " on " + settings.place->host : std::string());
}

std::vector<std::string> differences(const Settings& settings, const Conditions& made)
{
    std::vector<std::string> found;
    for (const auto& each : condition_keys()) {
        if (each.differs(settings, made)) {
            found.emplace_back(each.key);
        }
    }
    return found;
}

bool need_another(const Settings& settings, const Conditions& made)
{
    return !excess(settings, made).empty() ||
           std::ranges::any_of(condition_keys(), [&](const ConditionKey& each) {
               return each.change == Change::another && each.differs(settings, made);
           });
}

namespace {

/// Mounts by which a command could write what this server goes by: a file of its settings says what
/// of the host a sandbox has.
void add_within_reach(const Settings& settings, const Conditions& made,
                      std::vector<std::string>& found)
{
    for (const auto& mount : made.mounts) {
        const auto flag = flag_of(mount);
        const bool reaches = std::ranges::any_of(settings.out_of_reach, [&](const auto& file) {
            return !writable_part(file, {mount}).empty();
        });
        if (reaches && std::ranges::find(found, flag) == found.end()) {
            found.push_back(flag);
        }
    }
}

} // namespace

namespace {

bool has_all(const std::vector<std::string>& of, const std::vector<std::string>& in)
{
    return std::ranges::all_of(
        of, [&](const auto& each) { return std::ranges::find(in, each) != in.end(); });
}

/// By their text: two rules that say the same in other words are two.
bool reaches_more(const Conditions& made, const Conditions& wanted)
{
    if (made.network != wanted.network || made.network != sandbox::Network::filtered) {
        return made.network > wanted.network;
    }
    const auto most = [](std::uint64_t sent) { return sent - 1; }; // of 0: more than any
    return most(made.filter.max_sent) > most(wanted.filter.max_sent) ||
           !has_all(made.filter.allow, wanted.filter.allow) ||
           !has_all(wanted.filter.deny, made.filter.deny) ||
           !has_all(made.filter.inner, wanted.filter.inner) ||
           !has_all(made.filter.secrets, wanted.filter.secrets);
}

} // namespace

std::vector<std::string> excess(const Settings& settings, const Conditions& made)
{
    std::vector<std::string> found;
    if (settings.asked.contains("network") && reaches_more(made, settings)) {
        found.push_back("--network " + std::string(sandbox::word_of(made.network)) +
                        (made.network == settings.network ? " with other rules" : ""));
    }
    if (settings.asked.contains("mount") || settings.mounts_read_only) {
        for (const auto& mount : made.mounts) {
            if (!settings.asked.contains("mount") && !mount.writable) {
                continue;
            }
            const auto covers = [&](const sandbox::Mount& wanted) {
                return wanted.source == mount.source && wanted.target == mount.target &&
                       (wanted.writable || !mount.writable);
            };
            if (std::none_of(settings.mounts.begin(), settings.mounts.end(), covers)) {
                found.push_back(flag_of(mount));
            }
        }
    }
    add_within_reach(settings, made, found);
    return found;
}

std::vector<std::string> instead(const Settings& settings, const Conditions& made)
{
    std::vector<std::string> found;
    if (settings.asked.contains("network") && settings.network != made.network) {
        found.push_back("--network " + std::string(sandbox::word_of(settings.network)));
    }
    if (settings.asked.contains("mount")) {
        for (const auto& mount : settings.mounts) {
            if (std::find(made.mounts.begin(), made.mounts.end(), mount) == made.mounts.end()) {
                found.push_back(flag_of(mount));
            }
        }
    }
    return found;
}

std::string settings_notice(const Settings& settings, const Conditions& made, const std::string& id,
                            bool renews, const std::string& obstacle)
{
    const auto keys = joined(differences(settings, made));
    if (keys.empty()) {
        return {};
    }
    const auto told = "the sandbox was made with other settings than this server asks for (" +
                      keys + "); those it was made with stay in force ";
    return obstacle.empty()
               ? told + "until it ends. `berth sessions kill " + id +
                     (renews ? "` on the host ends it and keeps its home"
                             : "` ends it and keeps its files; another template takes --purge, "
                               "which ends those too")
               : told + "since no other can be made now: " + obstacle;
}

} // namespace berth::session
