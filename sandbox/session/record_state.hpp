#pragma once

#include "sandbox/session/registry.hpp"

namespace berth::session {

/// What the event makes of the record, in memory. Throws Error(internal) where it cannot happen.
void apply(Record& record, Event event);

} // namespace berth::session
