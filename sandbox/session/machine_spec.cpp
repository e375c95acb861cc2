// The part of the keeper that says what a machine shall be.

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/left_behind.hpp"
#include "sandbox/session/machine_keeper.hpp"

namespace berth::session {

/// Of a machine that nobody knows yet: whose it is, and nothing of what it shall have.
sandbox::MachineSpec MachineKeeper::fresh_spec(const std::string& key, const std::string& session,
                                               const Registry::Hold& lock) const
{
    sandbox::MachineSpec spec;
    spec.lock = lock.descriptor();
    spec.require_right = [this, &lock] { require_held(lock); };
    spec.key_hash = key;
    spec.session = session;
    spec.generation = random_hex(16);
    spec.token = random_hex(32);
    return spec;
}

/// What it is made of is the operator's word, as is what the host has there by now: where it cannot
/// be made of that, it is no fault of the call's that needs a machine.
std::unique_ptr<sandbox::Machine> MachineKeeper::make_machine(const Wanted& wanted,
                                                              const Record& record,
                                                              const Registry::Hold& lock) const
{
    try {
        if (settings_.make_workspace) {
            settings_.make_workspace();
        }
        return backend_.create(specify(wanted, record, lock));
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) {
            throw;
        }
        Error other(ErrorCode::sandbox_unavailable, error.what(), error.hint());
        other.with_details_of(error).with_output(error.output());
        if (dynamic_cast<const sandbox::LeftBehind*>(&error) != nullptr) {
            throw sandbox::LeftBehind(other);
        }
        throw Error(other);
    }
}

Conditions MachineKeeper::conditions_after(const Record& before, bool of_same_principal) const
{
    auto made = static_cast<const Conditions&>(settings_);
    if (!backend_.renews_machines() && !before.machine.home.empty()) {
        // Unless the home has gone, see create().
        made.template_name = before.made_with ? before.made_with->template_name : std::string();
    }
    // What the last one has left is owed until it is saved, also to a server that was told nothing.
    // Nobody else's files go to the workspace of whoever had the home before.
    if (of_same_principal && owes_files(before) &&
        !settings_.asked.contains("session.save_on_end")) {
        made.save_on_end = before.made_with->save_on_end;
    }
    // The same of how long a profile has said that the home is kept (docs/adr/0036).
    if (of_same_principal && before.made_with && before.made_with->own_retention &&
        !settings_.own_retention && !settings_.asked.contains("session.home_retention")) {
        made.home_retention = before.made_with->home_retention;
        made.own_retention = true;
    }
    return made;
}

sandbox::MachineSpec MachineKeeper::specify(const Wanted& wanted, const Record& record,
                                            const Registry::Hold& lock) const
{
    auto spec = fresh_spec(wanted.key, wanted.id.session, lock);
    spec.generation = record.machine.generation; // which is in the books already
    spec.token = record.token;
    spec.home = record.machine.home;
    spec.template_name = settings_.template_name;
    spec.mounts = settings_.mounts;
    spec.network = settings_.network;
    spec.outbound = settings_.outbound;
    spec.filter = settings_.filter;
    spec.limits = settings_.limits;
    spec.path_policy = settings_.path_policy;
    spec.ends_with_server = wanted.unnamed;
    spec.idle_pause = settings_.idle_pause;
    if (!wanted.unnamed) {
        spec.idle_end = settings_.ttl;
        spec.on_disconnect = settings_.on_disconnect;
    }
    return spec;
}

} // namespace berth::session
