// The part of the keeper that meets guests of other releases (docs/adr/0017-named-calls.md): one
// whose protocol this server does not speak is of no use to it. Nobody loses anything but what was
// outside of the home where an older one that nobody uses is replaced; outcomes that nobody saw are
// told.

#include "sandbox/base/error.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/occupation.hpp"
#include "sandbox/session/record_state.hpp"
#include "sandbox/session/unseen_outcomes.hpp"
#include "sandbox/session/untold.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace berth::session {
namespace {

constexpr std::chrono::seconds occupation_time{5};

std::string why_in_use(sandbox::Sandbox& sandbox)
{
    try {
        return "it is in use: " + occupation(sandbox.look(Deadline::after(occupation_time)));
    } catch (const std::exception&) {
        return "it is in use";
    }
}

/// What it has besides its home ends with it. Nothing but this can be asked of it, not what its
/// commands printed; a guest that does not answer is no reason to keep it.
protocol::InfoReply last_look(sandbox::Sandbox& sandbox)
{
    try {
        return sandbox.look(Deadline::after(occupation_time));
    } catch (const std::exception&) {
        return {};
    }
}

} // namespace

std::optional<MachineKeeper::Obtained>
MachineKeeper::attach_spoken(const Wanted& wanted, Record& record, const Registry::Hold* lock)
{
    try {
        return attach(wanted, record, lock);
    } catch (const sandbox::OtherVersion& refusal) {
        if (lock != nullptr) {
            end_outgrown(wanted, record, refusal, *lock);
        }
        return std::nullopt;
    }
}

void MachineKeeper::end_outgrown(const Wanted& wanted, Record& record, const Error& refusal,
                                 const Registry::Hold& lock)
{
    require_place(settings_.place, record);
    auto machine = backend_.attach(record.machine);
    if (!machine) {
        return; // it has ended meanwhile
    }
    sandbox::Sandbox sandbox(std::move(machine), record.token);
    const std::string end = "`berth sessions kill " + record.id.session +
                            "` ends it now and keeps its home, and the next call makes another";
    bool ended = false;
    try {
        ended = retire_outgrown(wanted.key, record, sandbox);
    } catch (const sandbox::OtherVersion&) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "the sandbox of session '" + record.id.session +
                        "' was made by a newer release of berth: " + refusal.what(),
                    "Start the server in that release. Or on the host " + end + '.');
    }
    if (!ended) {
        throw Error(ErrorCode::busy,
                    "the sandbox of session '" + record.id.session +
                        "' was made by an earlier release of berth (" + refusal.what() +
                        "), and cannot be replaced now: " + why_in_use(sandbox),
                    "The first call after that has ended gets a fresh sandbox with the same home. "
                    "Or on the host " +
                        end + '.');
    }
    end_retired(wanted.key, record, Event::outgrown, lock);
}

/// What nobody was told of is in the books before it ends: nobody else can tell it then, and this
/// server may die in the middle of that. Of one that stays its own server tells it, and of one that
/// ended all the same its note.
bool MachineKeeper::retire_outgrown(const std::string& key, Record& record,
                                    sandbox::Sandbox& sandbox)
{
    const auto before = record.untold;
    const auto take_back = [&] {
        if (record.untold != before) {
            record.untold = before;
            put_before_removal(key, record); // why it stays says more than a full disk
        }
    };
    keep_untold(record, parting_notices(last_look(sandbox)));
    if (record.untold != before) {
        registry_.put(key, record); // without room for them it stays as it is
    }
    try {
        const bool ended = sandbox.retire();
        if (!ended) {
            take_back();
        }
        return ended;
    } catch (...) {
        take_back();
        throw;
    }
}

} // namespace berth::session
