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
    const auto before = record.untold;
    keep_parting_words(wanted.key, record, sandbox);
    bool ended = false;
    try {
        ended = sandbox.retire();
    } catch (const sandbox::OtherVersion&) {
        take_back(wanted.key, record, before);
        throw Error(ErrorCode::sandbox_unavailable,
                    "the sandbox of session '" + record.id.session +
                        "' was made by a newer release of berth: " + refusal.what(),
                    "Start the server in that release. Or on the host " + end + '.');
    } catch (...) {
        take_back(wanted.key, record, before); // it may live; else its note has them
        throw;
    }
    if (!ended) {
        take_back(wanted.key, record, before); // its own server tells it
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

/// Nobody else can tell them once it is ended, and this server may die in the middle of that.
void MachineKeeper::keep_parting_words(const std::string& key, Record& record,
                                       sandbox::Sandbox& sandbox)
{
    const auto notices = parting_notices(last_look(sandbox));
    if (!notices.empty()) {
        keep_untold(record, notices);
        put_before_removal(key, record);
    }
}

void MachineKeeper::take_back(const std::string& key, Record& record,
                              const std::vector<std::string>& untold)
{
    if (record.untold != untold) {
        record.untold = untold;
        put_before_removal(key, record); // why it was refused says more than a full disk
    }
}

} // namespace berth::session
