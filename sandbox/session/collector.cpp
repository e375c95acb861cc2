#include "sandbox/session/collector.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/session/record_state.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <random>
#include <string_view>
#include <utility>

namespace berth::session {
namespace {

std::string unnoted_sentence(const std::string& session, const Error& why)
{
    return "what became of session " + session + " could not be noted: " + why.what() +
           (why.hint().empty() ? "" : " (" + why.hint() + ')');
}

} // namespace

Collector::Collector(const Settings& settings, sandbox::Backend& backend, Registry& registry,
                     MachineKeeper& keeper)
    : settings_(settings), backend_(backend), registry_(registry), keeper_(keeper),
      homes_(settings, registry, keeper)
{
}

Collected Collector::collect(const Deadline& deadline, const std::stop_token& stop,
                             const Homes& homes)
{
    Round round{.stop = stop, .homes = homes};
    auto keys = registry_.keys();
    if (!keys.empty()) {
        // Each may take a request, or a write: whoever has little time would always come to the
        // same ones.
        std::rotate(keys.begin(),
                    keys.begin() +
                        static_cast<std::ptrdiff_t>(std::random_device()() % keys.size()),
                    keys.end());
    }
    const bool looked =
        for_each(keys, deadline, round, [&](const std::string& key) { clear_up(key, round); });
    const bool dropped = for_each(keeper_.abandoned(), deadline, round,
                                  [&](const auto& key) { keeper_.drop_abandoned(key); });
    const bool restored = restore_lost(deadline, round);
    const bool found = for_each(keeper_.unsure_homes(), deadline, round, [&](const auto& key) {
        if (keeper_.end_lost_unnamed(key)) {
            ++round.collected.cleared;
        } else if (keeper_.record_home(key)) {
            round.collected.found.push_back(key);
        }
    });
    collect_backend(deadline, round);
    const bool ended = end_strays(deadline, round);
    const bool swept = sweep_saves(deadline, round); // before the saves, which need the room
    // Each may take minutes. One that failed may well fail again, and takes the others' time last.
    const auto rank = [](const Due& due) {
        return std::pair(!due.trouble.empty(), std::string_view(due.key));
    };
    std::sort(round.due.begin(), round.due.end(),
              [&](const Due& a, const Due& b) { return rank(a) < rank(b); });
    const bool saved =
        for_each(round.due, deadline, round, [&](const Due& due) { save(due, round); });
    round.collected.in_time = looked && dropped && restored && found && ended && swept && saved;
    return std::move(round.collected);
}

/// What is dead of it is cleared up at once: nobody else may come for long.
bool Collector::restore_lost(const Deadline& deadline, Round& round)
{
    auto& collected = round.collected;
    const bool in_time = for_each(keeper_.lost_machines(), deadline, round, [&](const auto& key) {
        if (restore(key, collected)) {
            collected.restored.push_back(name_of(key));
            clear_up(key, round);
        }
    });
    collected.knows_all = in_time && collected.awaited.empty();
    return in_time;
}

/// What keeps one from being restored may last, and is no reason to wait for it with the others.
bool Collector::restore(const std::string& key, Collected& collected)
{
    try {
        return keeper_.restore(key);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::busy) {
            collected.awaited = error.what();
        } else {
            collected.unrestored.push_back(
                "session " + key + ", which the books have lost, cannot be in them again: " +
                error.what() + (error.hint().empty() ? "" : " (" + error.hint() + ')') +
                ". Its next call and `berth sessions gc` try it again; without last-machine in " +
                settings_.state_directory + "/sessions/" + key + " its home alone is kept");
        }
        throw;
    }
}

/// As a list shows it.
std::string Collector::name_of(const std::string& key) const
{
    try {
        const auto record = registry_.find(key);
        return record && !record->id.session.empty() ? record->id.session : key;
    } catch (const std::exception&) {
        return key;
    }
}

/// False where there was no time for all. A damaged or busy one is no reason to leave the others.
template <class Subjects, class Act>
bool Collector::for_each(const Subjects& subjects, const Deadline& deadline, Round& round,
                         const Act& act)
{
    const auto note_failed = [&](const auto& subject, const std::exception& error) {
        round.collected.failed.push_back("session " + name_of(key_of(subject)) + ": " +
                                         error.what());
    };
    for (const auto& subject : subjects) {
        if (deadline.expired() || round.stop.stop_requested()) {
            return false;
        }
        try {
            act(subject);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::busy) {
                round.collected.busy.push_back(name_of(key_of(subject)));
            } else {
                note_failed(subject, error);
            }
        } catch (const std::exception& error) {
            note_failed(subject, error);
        }
    }
    return true;
}

/// What is done at once.
void Collector::clear_up(const std::string& key, Round& round)
{
    const auto ended = keeper_.collect(key, AtEnd::leave, round.stop);
    const auto cleared = static_cast<bool>(ended);
    round.collected.cleared += cleared ? 1U : 0U;
    if (!cleared && !ended.trouble.empty()) {
        round.collected.unrestored.push_back(ended.trouble + " (" + ended.remedy + ')');
        round.collected.failed.push_back(round.collected.unrestored.back());
    }
    if (ended.unnoted) {
        round.collected.failed.push_back(unnoted_sentence(name_of(key), *ended.unnoted));
    }
    if (ended.lapses_in) {
        round.collected.silent.push_back(name_of(key));
        round.collected.lapse = std::max(round.collected.lapse, *ended.lapses_in);
    }
    const bool removes = round.homes.old || round.homes.older_than;
    if (!removes && backend_.is_bound_to_host()) {
        return; // where none comes late
    }
    const auto record = registry_.find(key);
    round.collected.late += record && !record->late.empty() ? 1U : 0U;
    if (!removes) {
        return;
    }
    if (record && is_on_another(*record, backend_.name())) {
        ++round.collected.others;
    } else if (record && has_no_machine(*record) && owes_files(*record)) {
        round.due.push_back({.key = key,
                             .name = record->id.session,
                             .trouble = record->saving.trouble,
                             .cleared = cleared});
    } else {
        remove_home(key, round);
    }
}

/// What is left of machines that no book knows. The sessions and their saves have nothing to do
/// with what is wrong there.
void Collector::collect_backend(const Deadline& deadline, Round& round)
{
    try {
        backend_.collect(deadline);
    } catch (const std::exception& error) {
        round.collected.failed.emplace_back(error.what());
    }
}

/// Asks whoever has the machines for a list, so not with each collection. The list comes first:
/// what the books know by then is known.
bool Collector::end_strays(const Deadline& deadline, Round& round)
{
    if (!round.homes.old && !round.homes.older_than) {
        return true;
    }
    if (deadline.expired() || round.stop.stop_requested()) {
        return false;
    }
    try {
        return for_each(backend_.find_machines(deadline), deadline, round, [&](const auto& found) {
            round.collected.strays += keeper_.end_stray(found, round.homes.older_than) ? 1U : 0U;
        });
    } catch (const std::exception& error) { // the sessions have nothing to do with it
        round.collected.failed.emplace_back(error.what());
        return true;
    }
}

/// False where there was no time for all of it.
bool Collector::sweep_saves(const Deadline& deadline, Round& round)
{
    if (!settings_.sweep_saves || (!round.homes.old && !round.homes.older_than)) {
        return true;
    }
    if (deadline.expired() || round.stop.stop_requested()) {
        return false;
    }
    auto& failed = round.collected.failed;
    try {
        auto swept = settings_.sweep_saves(deadline, round.stop);
        std::move(swept.failed.begin(), swept.failed.end(), std::back_inserter(failed));
        swept.failed.clear();
        round.collected.swept = std::move(swept);
    } catch (const std::exception& error) { // the sessions have nothing to do with it
        failed.emplace_back(error.what());
    }
    return round.collected.swept.complete;
}

/// Where something could not be saved its home stays.
void Collector::save(const Due& due, Round& round)
{
    auto& collected = round.collected;
    auto ended = keeper_.collect(due.key, AtEnd::save, round.stop);
    collected.cleared += ended && !due.cleared ? 1U : 0U;
    if (ended.saved) {
        if (settings_.on_saved) {
            settings_.on_saved(*ended.saved);
        }
        collected.saved.push_back(std::move(*ended.saved));
    }
    if (ended.trouble.empty() && ended.unnoted) {
        collected.failed.push_back(unnoted_sentence(due.name, *ended.unnoted));
        return;
    }
    if (ended.trouble.empty()) {
        remove_home(due.key, round);
        return;
    }
    if (round.stop.stop_requested()) {
        return;
    }
    if (settings_.on_unsaved && ended.trouble != due.trouble) {
        settings_.on_unsaved(due.name, ended.trouble);
    }
    collected.failed.push_back("the home of session " + due.name +
                               ", not saved (session.save_on_end): " + ended.trouble +
                               (ended.remedy.empty() ? "" : " (" + ended.remedy + ')'));
}

void Collector::remove_home(const std::string& key, Round& round)
{
    if (auto removed = homes_.collect(key, round.homes.older_than)) {
        if (settings_.on_removed) {
            settings_.on_removed(*removed);
        }
        round.collected.removed.push_back(std::move(*removed));
    }
}

} // namespace berth::session
