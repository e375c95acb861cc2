#include "sandbox/session/record_state.hpp"

#include "sandbox/base/error.hpp"

#include <cstddef>
#include <exception>

namespace berth::session {
namespace {

/// Before another machine takes the place of the last one: why that has ended, if it was ended.
void note_past(Record& record)
{
    constexpr std::size_t most_kept = 4; // who asks had a call in flight on it
    if (record.state != State::ended || record.machine.generation.empty()) {
        return;
    }
    record.past.emplace_back(record.machine.generation, record.why);
    if (record.past.size() > most_kept) {
        record.past.erase(record.past.begin());
    }
}

} // namespace

bool is_on_another(const Record& record, std::string_view backend)
{
    return !record.machine.backend.empty() && record.machine.backend != backend;
}

void require_backend(const Record& record, std::string_view backend)
{
    // Never a silent change: the files of the session are on the other backend.
    if (is_on_another(record, backend)) {
        throw Error(
            ErrorCode::sandbox_unavailable,
            "session '" + record.id.session + "' is on the backend '" + record.machine.backend +
                "', and this berth uses '" + std::string(backend) + "'",
            "Start it with --backend " + record.machine.backend + ", or use another session.");
    }
}

void apply(Record& record, Event event)
{
    const auto transition = next(record.state, event);
    if (!transition) {
        throw Error(ErrorCode::internal, "a session that is " +
                                             std::string(to_string(record.state)) +
                                             " cannot go where it was sent");
    }
    if (event == Event::create) {
        note_past(record);
        record.purging = false;
    }
    const bool had_none = has_no_machine(record);
    record.state = transition->to;
    record.why = transition->why;
    record.ending = false;
    if (!has_no_machine(record)) {
        record.kept.reset();
    } else if (!had_none || !record.kept) {
        record.kept = kept_from_now();
    }
}

std::string known_trouble(Registry& registry, const std::string& key)
{
    try {
        const auto record = registry.find(key);
        return record ? record->saving.trouble : "";
    } catch (const std::exception&) {
        return {};
    }
}

} // namespace berth::session
