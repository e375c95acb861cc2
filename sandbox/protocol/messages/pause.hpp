#pragma once

// Pausing a machine: what runs in it is frozen, the guest goes on answering. docs/sessions.md has
// what pauses and what wakes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

/// PauseState::why of a machine that is not paused, whose host will do it: said by no guest.
inline constexpr const char* paused_by_host = "host";

/// Whether the machine is paused, and what will change that. Part of InfoReply.
struct PauseState {
    bool paused = false;
    std::string why;         ///< it is paused: "idle", "left" (the last client has), "asked"
    std::string mechanism;   ///< how, or how it would be: "cgroup", "cgroup-v1", "signals";
                             ///< of a machine that its host has sleep: "microvm"
    std::uint64_t since = 0; ///< ms it has been paused for
    /// ms until it pauses by itself if nothing comes; absent: it does not, as things are.
    std::optional<std::uint64_t> pauses_in;
    /// ms until it ends, unused or left by all, if nothing comes; absent: in use, or it never does.
    std::optional<std::uint64_t> ends_in;
    std::uint32_t clients = 0; ///< servers with a lease, and connections of others that work here
    std::vector<std::string> calls; ///< in flight, each in a few words, oldest first
    std::uint64_t idle_pause = 0;   ///< ms, as the machine was made with; 0: never

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.paused);
        field(2, self.why);
        field(3, self.mechanism);
        field(4, self.since);
        field(5, self.pauses_in);
        field(6, self.ends_in);
        field(7, self.clients);
        field(8, self.calls);
        field(9, self.idle_pause);
    }
};

/// Sent when everything is frozen.
struct PauseReply {
    bool was_paused = false; ///< before the request; nothing was done then
    std::uint32_t jobs = 0;  ///< that sleep
    std::string mechanism;   ///< as in PauseState

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.was_paused);
        field(2, self.jobs);
        field(3, self.mechanism);
    }
};

struct ResumeReply {
    bool was_paused = false;
    std::uint64_t paused_for = 0; ///< ms

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.was_paused);
        field(2, self.paused_for);
    }
};

} // namespace berth::protocol
