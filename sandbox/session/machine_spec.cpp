// The part of the keeper that says what a machine shall be.

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/session/machine_keeper.hpp"

namespace berth::session {

/// Of a machine that nobody knows yet: whose it is, and nothing of what it shall have.
sandbox::MachineSpec MachineKeeper::fresh_spec(const std::string& key, const std::string& session,
                                               const Registry::Hold& lock)
{
    sandbox::MachineSpec spec;
    spec.lock = lock.descriptor();
    spec.key_hash = key;
    spec.session = session;
    spec.generation = random_hex(16);
    spec.token = random_hex(32);
    return spec;
}

/// No fault of the call's that needs a machine.
void MachineKeeper::make_workspace() const
{
    if (!settings_.make_workspace) {
        return;
    }
    try {
        settings_.make_workspace();
    } catch (const Error& error) {
        throw Error(ErrorCode::sandbox_unavailable, error.what(), error.hint());
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
