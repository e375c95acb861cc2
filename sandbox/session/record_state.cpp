#include "sandbox/session/record_state.hpp"

#include "sandbox/base/error.hpp"

#include <string>

namespace berth::session {

void apply(Record& record, Event event)
{
    const auto transition = next(record.state, event);
    if (!transition) {
        throw Error(ErrorCode::internal, "a session that is " +
                                             std::string(to_string(record.state)) +
                                             " cannot go where it was sent");
    }
    record.state = transition->to;
    record.why = transition->why;
    record.ending = false;
    record.kept = has_no_machine(record) ? kept_from_now() : std::nullopt;
}

} // namespace berth::session
