// The part of the keeper that takes a machine for a session which somebody else made: of those that
// are bound to no host.

#include "sandbox/base/error.hpp"
#include "sandbox/base/host_time.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/record_state.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

namespace berth::session {

/// Two sessions in one sandbox would end each other's commands, and either the other's files.
void MachineKeeper::require_nobody_s(const std::string& id) const
{
    const auto has_it = [&](const Record& record) {
        return backend_.is_same_id(record.machine.id, id) ||
               std::ranges::any_of(record.machine.home, [&](const auto& part) {
                   return backend_.is_same_id(part.second, id);
               });
    };
    for (const auto& key : registry_.keys()) {
        const auto record = registry_.find(key);
        if (record && has_it(*record)) {
            throw Error(ErrorCode::conflict,
                        "the sandbox " + id + " is that of session " +
                            (record->id.session.empty() ? key : visible(record->id.session)),
                        "`berth sessions adopt " + key + "` takes the session itself.");
        }
    }
}

/// What nobody has said of it: its maker, not this server. It is kept until somebody removes it.
void MachineKeeper::set_unknown_conditions(Record& record) const
{
    auto& made = record.made_with.emplace(settings_);
    made.network = sandbox::Network::host;
    made.outbound = {};
    made.filter = {};
    made.template_name.clear();
    made.home_retention = {};
    made.own_retention = false;
    made.save_on_end = {};
    record.network_unsure = true;
}

/// One after the other, from the look whether somebody has it to the note that one has: two that
/// take the same sandbox for two sessions would both find it free.
std::unique_ptr<Registry::Hold> MachineKeeper::lock_foreign(const std::string& key,
                                                            const Deadline& deadline) const
{
    try {
        return lock(key, deadline);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::busy) {
            throw;
        }
        throw Error(Error(ErrorCode::busy, "another sandbox is being taken over just now",
                          "Try again when that is done, in seconds or minutes.")
                        .set_retryable(true));
    }
}

Adopted MachineKeeper::adopt_machine(const std::string& id, const Adoption& adoption)
{
    const auto all = key_hash({.principal = {}, .session = "sandboxes made elsewhere", .key = {}});
    Adopted adopted;
    try {
        const auto turn = lock_foreign(all, adoption.deadline);
        adopted = adopt_free_machine(id, adoption);
    } catch (...) {
        drop_unused(all); // the lock has made its folder
        throw;
    }
    drop_unused(all);
    return adopted;
}

Adopted MachineKeeper::adopt_free_machine(const std::string& id, const Adoption& adoption)
{
    const auto to = key_hash(adoption.to);
    try {
        const auto lock = this->lock(to, adoption.deadline);
        require_free(to, registry_.find(to), adoption.to);
        require_nobody_s(id);
        auto spec = fresh_spec(to, adoption.to.session, *lock);
        spec.limits = settings_.limits;
        spec.path_policy = settings_.path_policy;
        spec.idle_pause = settings_.idle_pause;
        const auto machine = backend_.adopt(id, spec);
        Record record = record_of_adopted(to, std::nullopt, adoption.to);
        apply(record, Event::adopt);
        record.machine = machine->record();
        record.machine.data["key_hash"] = to;
        record.token = spec.token;
        record.adopting.clear();
        set_unknown_conditions(record);
        record.last_used = record.created;
        record.used = HostTime::now();
        registry_.put(to, record);
        return {.from = {}, .key = to, .home = {}, .ended_machine = false};
    } catch (...) {
        drop_unused(to); // the lock has made its folder
        throw;
    }
}

} // namespace berth::session
