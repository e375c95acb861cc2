#pragma once

// Limits of the session that its commands met.

#include <cstdint>

namespace berth::protocol {

/// Between a command's start and its end. Of what nothing counts here there is nothing.
struct LimitHits {
    std::uint64_t refused_processes = 0; ///< by the limit of processes
    bool refused_of_command = false;     ///< they were this command's; else the session's
    /// Of the kernel's periods, always the session's: those in which something ran, those in which
    /// it was made to wait for the rest, and how long processors did.
    std::uint64_t cpu_periods = 0;
    std::uint64_t throttled_periods = 0;
    std::uint64_t throttled_time = 0; ///< microseconds

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.refused_processes);
        field(2, self.refused_of_command);
        field(3, self.cpu_periods);
        field(4, self.throttled_periods);
        field(5, self.throttled_time);
    }
};

} // namespace berth::protocol
