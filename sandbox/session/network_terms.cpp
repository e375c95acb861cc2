// The part of the keeper that has a living machine reach what its servers ask for, where its host
// can change that (docs/adr/0026-home-on-e2b.md).

#include "sandbox/base/error.hpp"
#include "sandbox/session/condition_keys.hpp"
#include "sandbox/session/machine_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace berth::session {
namespace {

constexpr std::chrono::seconds network_look_time{5};

bool asks_for_network(const Settings& settings)
{
    return std::ranges::any_of(condition_keys(), [&](const ConditionKey& each) {
        return each.of_network && settings.asked.contains(each.key);
    });
}

/// What of the network this server asks for, and the machine has not, or may not have.
bool has_other_network(const Settings& settings, const Record& record)
{
    if (!record.made_with || !asks_for_network(settings)) {
        return false;
    }
    return record.network_unsure ||
           std::ranges::any_of(condition_keys(), [&](const ConditionKey& each) {
               return each.of_network && each.differs(settings, *record.made_with);
           });
}

/// Nobody else works there who may have been kept from more. `held`: this server is a client.
bool nobody_works_in(sandbox::Sandbox& sandbox, bool held)
{
    if (held) {
        sandbox.ping(); // its lease may have run out: so that it is one of those that are counted
    }
    const auto info = sandbox.look(Deadline::after(network_look_time));
    return info.calls == 0 && info.jobs.empty() && info.pause &&
           info.pause->clients <= (held ? 1U : 0U);
}

/// Installers are told where there is no network (sandbox/command_environment.hpp), which must not
/// outlast that. False: the guest could not be told, and is with a later call; whether it is there
/// at all this one finds out. One of an earlier release takes no other, and keeps what it has.
bool has_environment(sandbox::Sandbox& sandbox,
                     const std::map<std::string, std::string>& environment)
{
    if (environment.empty()) {
        return true;
    }
    try {
        protocol::Terms terms;
        terms.environment = environment;
        static_cast<void>(sandbox.change_terms(terms));
        return true;
    } catch (const Error&) {
        return false;
    }
}

} // namespace

bool MachineKeeper::wants_other_network(const Record& record) const
{
    return backend_.changes_networks() && has_other_network(settings_, record);
}

bool MachineKeeper::may_reach_more(const Record& record) const
{
    return wants_other_network(record) && record.made_with->network != sandbox::Network::none;
}

bool MachineKeeper::needs_other_network(const std::string& key) const noexcept
{
    if (!backend_.changes_networks() || !asks_for_network(settings_)) {
        return false;
    }
    try {
        const auto record = registry_.find(key);
        return record && record->state == State::running && may_reach_more(*record);
    } catch (const std::exception&) {
        return false; // the books cannot be asked now: what was so stays so
    }
}

/// A call does not begin before it holds what its server asks for, which may have been started to
/// keep a model from a network. False: there is another machine by now. Throws Error where it
/// cannot be done.
bool MachineKeeper::change_network(const Wanted& wanted, Record& record, sandbox::Sandbox& sandbox,
                                   const Registry::Hold* lock)
{
    if (!backend_.changes_networks() || !has_other_network(settings_, record)) {
        return true;
    }
    if (lock != nullptr) {
        settle_network(wanted, record, sandbox, *lock);
        return true;
    }
    auto found = lock_existing(wanted.key, Deadline::after(settings_.lock_wait));
    if (!found || found->record.state != State::running ||
        found->record.machine.generation != record.machine.generation) {
        return false;
    }
    settle_network(wanted, found->record, sandbox, *found->lock);
    record.made_with = found->record.made_with;
    record.network_unsure = found->record.network_unsure;
    return true;
}

/// Under the session's lock. That nobody knows what it can reach is in the books before it is
/// changed, for a server that dies meanwhile: whoever asks next sets it again. None is for all who
/// work there; more is given where nobody does, and else told as different.
void MachineKeeper::settle_network(const Wanted& wanted, Record& record, sandbox::Sandbox& sandbox,
                                   const Registry::Hold& lock)
{
    if (!has_other_network(settings_, record)) {
        return; // another server was quicker
    }
    const auto asks = [&](std::string_view name) { return settings_.asked.contains(name); };
    auto& made = *record.made_with;
    sandbox::Reachable reachable{.network = asks("network") ? settings_.network : made.network,
                                 .outbound = made.outbound,
                                 .filter = made.filter};
    auto& [network, outbound, filter] = reachable;
    outbound.allow = asks("e2b.allow_out") ? settings_.outbound.allow : outbound.allow;
    outbound.deny = asks("e2b.deny_out") ? settings_.outbound.deny : outbound.deny;
    if (asks("network")) { // what is a filter's was checked to be of a filtered one
        filter = settings_.filter;
    }
    const bool held = wanted.held.get() == &sandbox;
    const bool is_all =
        network == sandbox::Network::host && outbound.allow.empty() && outbound.deny.empty();
    const bool is_more =
        network != sandbox::Network::none && (made.network == sandbox::Network::none || is_all);
    if (is_more && !nobody_works_in(sandbox, held)) {
        return;
    }
    record.network_unsure = true;
    registry_.put(wanted.key, record);
    const auto environment =
        backend_.change_network(record.machine, reachable, [&] { require_held(lock); });
    made.network = network;
    made.outbound = std::move(outbound);
    made.filter = std::move(filter);
    record.network_unsure = !has_environment(sandbox, environment);
    registry_.put(wanted.key, record);
}

} // namespace berth::session
