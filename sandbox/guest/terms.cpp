#include "sandbox/guest/terms.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace berth::guest {
namespace {

/// A number that nobody means must not overflow what is reckoned with it.
std::chrono::milliseconds bounded(std::uint64_t milliseconds)
{
    constexpr std::uint64_t hundred_years = 100ULL * 365 * 24 * 3600 * 1000;
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(std::min(milliseconds, hundred_years)));
}

} // namespace

protocol::Terms change_terms(const protocol::Terms& wanted, const TermKeepers& keepers)
{
    protocol::Terms taken = wanted;
    keepers.commands.change_limits(taken);
    if (wanted.quota && keepers.quota != nullptr && *wanted.quota != 0 &&
        !keepers.quota->is_by_kernel()) {
        keepers.quota->set_limit(*wanted.quota);
    } else {
        taken.quota.reset();
    }
    if (!wanted.idle_end || !keepers.lifetime.set_idle_end(bounded(*wanted.idle_end))) {
        taken.idle_end.reset();
    }
    if (wanted.idle_pause || wanted.on_disconnect) {
        auto policy = keepers.pauses.policy();
        if (wanted.idle_pause) {
            policy.idle_pause = bounded(*wanted.idle_pause);
        }
        policy.on_disconnect = wanted.on_disconnect.value_or(policy.on_disconnect);
        keepers.pauses.set_policy(policy);
    }
    return taken;
}

} // namespace berth::guest
