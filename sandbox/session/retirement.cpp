#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/record_state.hpp"
#include "sandbox/session/unseen_outcomes.hpp"
#include "sandbox/session/untold.hpp"

#include <exception>
#include <utility>

// A machine that nobody uses gives way to one that is made as a server asks (docs/adr/0020).

namespace berth::session {

/// Whether this server could, and should, put another machine in its place.
bool MachineKeeper::is_outdated(const Record& record)
{
    return record.state == State::running && !record.ending && record.made_with &&
           is_ours(record) && need_another(settings_, *record.made_with) &&
           backend_.availability().available;
}

/// Nobody loses anything by it but what was outside of the home: whoever still works there keeps
/// the machine as it is, and what nobody was told of is told now, with what it printed.
bool MachineKeeper::retire(const Wanted& wanted, Record& record, const Registry::Hold& lock)
{
    LastNotices last;
    bool ended = false;
    try {
        if (auto machine = backend_.attach(record.machine)) {
            sandbox::Sandbox sandbox(std::move(machine), record.token);
            last = last_notices(sandbox);
            keep_untold(record, last.told); // for the guest they count as told, whatever comes
            if (!last.told.empty()) {
                registry_.put(wanted.key, record);
            }
            ended = sandbox.retire();
        }
    } catch (const std::exception&) {
        ended = false; // what is the matter with it the attempt to use it tells
    }
    if (!ended) {
        return false;
    }
    if (!last.untold.empty()) {
        keep_untold(record, {last.untold});
    }
    destroy(record.machine, false, lock);
    apply(record, Event::retired);
    registry_.put(wanted.key, record);
    return true;
}

} // namespace berth::session
