#pragma once

// What of a machine can change while it lives. docs/adr/0020-live-terms.md.

#include "sandbox/protocol/on_disconnect.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace berth::protocol {

/// As a request: what shall hold from now on, and as its reply: what of that does. Absent: nothing
/// is said about it. What an older guest does not know is absent in its reply.
struct Terms {
    std::optional<std::uint32_t> calls; ///< commands at once
    std::optional<std::uint32_t> jobs;
    std::optional<std::uint64_t> nofile; ///< of commands that begin from now on
    /// Processes; in the reply where the guest limits them, and no cgroup.
    std::optional<std::uint64_t> pids;
    std::optional<std::uint64_t> quota;      ///< bytes; only where the guest limits the home, not 0
    std::optional<std::uint64_t> idle_end;   ///< ms; only where it was not 0, not 0
    std::optional<std::uint64_t> idle_pause; ///< ms; 0: never
    std::optional<OnDisconnect> on_disconnect;
    /// Of commands that begin from now on, the whole of it, as GuestConfig::environment was. Empty:
    /// nothing is said about it.
    std::map<std::string, std::string> environment;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.calls);
        field(2, self.jobs);
        field(3, self.nofile);
        field(4, self.pids);
        field(5, self.quota);
        field(6, self.idle_end);
        field(7, self.idle_pause);
        field(8, self.on_disconnect);
        field(9, self.environment);
    }

    friend bool operator==(const Terms&, const Terms&) = default;
};

} // namespace berth::protocol
