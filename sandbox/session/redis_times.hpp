#pragma once

#include <chrono>

namespace berth::session {

/// How long what is kept in Redis holds, and how long Redis is waited for. Why these:
/// docs/adr/0015-redis-registry.md.
struct RedisTimes {
    /// Of a creation lock whose holder is not heard of any more.
    std::chrono::milliseconds lock{4'000};
    /// Of the proof that the server of an unnamed session lives.
    std::chrono::milliseconds claim{30'000};
    /// Between two renewals of both.
    std::chrono::milliseconds renewal{1'000};
    /// After a restart of Redis no lock is given for so long: each server writes again what it
    /// knows, and whoever held a lock learns that it is gone.
    std::chrono::milliseconds settling{5'000};
    /// A record outlasts its last use by the session's time to live and this.
    std::chrono::hours keep{60 * 24};
    /// The same of a machine that is bound to no host: for ever. Nothing else leads to it and its
    /// files, for which somebody may pay, and how long they are kept whoever clears up knows.
    std::chrono::hours keep_far{100 * 365 * 24};
    /// That a session was purged is remembered for so long.
    std::chrono::hours purged{7 * 24};
    std::chrono::milliseconds connect{1'000};
    std::chrono::milliseconds command{2'000};
    /// After a failure nobody waits for the next one.
    std::chrono::milliseconds rest{300};
};

} // namespace berth::session
