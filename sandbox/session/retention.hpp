#pragma once

#include "sandbox/base/host_time.hpp"
#include "sandbox/session/kept_time.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/settings.hpp"

#include <chrono>
#include <optional>

namespace berth::session {

/// How long the home of a session without a machine is kept; nothing: until somebody removes it.
/// What a profile has said of its own sessions counts, then what an operator has said of all, else
/// what the last machine was made with (docs/adr/0036-retention-of-a-profile.md).
[[nodiscard]] std::optional<std::chrono::seconds> retention_of(const Settings& settings,
                                                               const Record& record);

/// For how long it has been, by `now`; nothing where nobody has counted yet.
[[nodiscard]] std::optional<KeptTime> kept_by(const Settings& settings, const Record& record,
                                              const HostTime& now);

/// Until when it is, by the host's wall clock: the same at each look, to the second, for as long
/// as nobody uses the session or sets that clock. Nothing where it is not counted yet, or there is
/// no end. Throws std::system_error.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point>
kept_until(const Settings& settings, const Record& record);

} // namespace berth::session
