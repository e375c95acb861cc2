#pragma once

#include "sandbox/base/host_time.hpp"

#include <chrono>
#include <optional>

namespace berth::session {

/// For how long something has been kept, in a form that outlives this process and this boot. What
/// is older than it may be is deleted: so where the clocks leave a doubt, it is younger.
struct KeptTime {
    HostTime seen;                   ///< counted until then
    std::chrono::seconds counted{0}; ///< at that time

    friend bool operator==(const KeptTime&, const KeptTime&) = default;
};

/// That begins now; nothing where the clocks cannot be read: the next collection counts then.
[[nodiscard]] std::optional<KeptTime> kept_from_now() noexcept;

/// Within one boot by the boot's own clock, which nobody sets. Across a restart by the wall clock,
/// of which no more than `most` is believed (a battery that is empty, a virtual machine that was
/// restored), and nothing where it went back.
[[nodiscard]] KeptTime count_until(const KeptTime& before, const HostTime& now,
                                   std::chrono::seconds most);

} // namespace berth::session
