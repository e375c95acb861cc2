#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/settings.hpp"

#include <memory>

namespace berth::session {

/// The books that the operator chose: files of this host, or a Redis. Asks nobody yet. `backend`:
/// whose machines they tell of.
[[nodiscard]] std::unique_ptr<Registry> make_registry(const Settings& settings,
                                                      const sandbox::Backend& backend);

} // namespace berth::session
