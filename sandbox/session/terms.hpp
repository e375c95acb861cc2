#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/session/settings.hpp"

#include <string>
#include <vector>

namespace berth::session {

/// Of the settings that somebody gave, those in which a machine that was made with `made` is
/// another and could change.
[[nodiscard]] std::vector<std::string> live_differences(const Settings& settings,
                                                        const Conditions& made);

/// What its guest is asked for them.
[[nodiscard]] protocol::Terms terms_for(const Settings& settings,
                                        const std::vector<std::string>& keys);

/// Writes into `made` what was taken on: by the guest, and from outside of it.
void take_on(Conditions& made, const Settings& settings, const std::vector<std::string>& keys,
             const protocol::Terms& by_guest, const sandbox::ChangedLimits& outside);

} // namespace berth::session
