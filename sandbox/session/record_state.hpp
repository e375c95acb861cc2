#pragma once

#include "sandbox/session/registry.hpp"

#include <string>
#include <string_view>

namespace berth::session {

/// What the event makes of the record, in memory. Throws Error(internal) where it cannot happen.
void apply(Record& record, Event event);

/// Whether its machine, and its files, are on another backend than `backend`.
[[nodiscard]] bool is_on_another(const Record& record, std::string_view backend);

/// Throws Error(sandbox_unavailable) where they are.
void require_backend(const Record& record, std::string_view backend);

/// Why what is to be saved of the session was not at the last attempt; empty: there was none, or
/// its record cannot be read, which whoever ends it tells.
[[nodiscard]] std::string known_trouble(Registry& registry, const std::string& key);

} // namespace berth::session
