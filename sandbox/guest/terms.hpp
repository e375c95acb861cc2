#pragma once

#include "sandbox/guest/commands.hpp"
#include "sandbox/guest/lifetime.hpp"
#include "sandbox/guest/pause/pauses.hpp"
#include "sandbox/guest/quota/home_quota.hpp"
#include "sandbox/protocol/messages.hpp"

namespace berth::guest {

/// What the terms of a machine are kept by.
struct TermKeepers {
    Commands& commands;
    Pauses& pauses;
    Lifetime& lifetime;
    HomeQuota* quota = nullptr; ///< null: the home is not limited
};

/// Has them hold from now on; what runs already is not stopped for it, but counts. Answers what of
/// it can change here. On the loop's thread.
[[nodiscard]] protocol::Terms change_terms(const protocol::Terms& wanted,
                                           const TermKeepers& keepers);

} // namespace berth::guest
