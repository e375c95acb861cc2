#include "sandbox/session/kept_time.hpp"

#include <algorithm>
#include <exception>

namespace berth::session {

std::optional<KeptTime> kept_from_now() noexcept
{
    try {
        return KeptTime{.seen = HostTime::now(), .counted = {}};
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

KeptTime count_until(const KeptTime& before, const HostTime& now, std::chrono::seconds most)
{
    using std::chrono::seconds;
    const bool same_boot = before.seen.boot == now.boot;
    const seconds passed = same_boot ? std::max(now.up - before.seen.up, seconds(0))
                                     : std::clamp(now.wall - before.seen.wall, seconds(0), most);
    return {.seen = now, .counted = before.counted + passed};
}

} // namespace berth::session
