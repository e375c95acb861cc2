#pragma once

#include "sandbox/session/save_on_end.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace berth::session {

/// What a collection has done.
struct Collected {
    std::size_t cleared = 0;           ///< of how many sessions it removed what was dead
    std::size_t strays = 0;            ///< machines that no book knew, now ended
    std::size_t others = 0;            ///< sessions on another backend, which it left alone
    std::vector<std::string> restored; ///< sessions that the books had lost, by name
    /// Of sessions that the books had lost and cannot be told of: why, and what to do; in `failed`
    /// too.
    std::vector<std::string> unrestored;
    /// None is left that the books may have lost, but for those.
    bool knows_all = false;
    std::string awaited;              ///< whom one is locked by, where that is why it is not
    std::vector<std::string> found;   ///< keys of homes that the books had lost, now listed
    std::vector<SavedFiles> saved;    ///< of each session of which `save_on_end` was done
    std::vector<std::string> removed; ///< the sessions whose homes it removed, by name
    SweptSaves swept;                 ///< but for what failed of it
    std::vector<std::string> failed;  ///< why something stayed, of each that is not just in use
    /// The sessions that others were making or ending just then, by name: what is to be done of
    /// them is not known.
    std::vector<std::string> busy;
    /// Unnamed sessions whose servers may be dead, or not, by name; see Ended::lapses_in.
    std::vector<std::string> silent;
    /// In how long that is known of all of them.
    std::chrono::milliseconds lapse{0};
    /// Sessions of which a machine may still come that nobody waits for.
    std::size_t late = 0;
    bool in_time = false; ///< the time was enough to come to all

    /// Nothing is left to whoever comes next.
    [[nodiscard]] bool complete() const noexcept
    {
        return in_time && busy.empty() && silent.empty() && failed.empty();
    }
};

/// Which homes a collection removes besides. With any, what is due of `save_on_end` is done too,
/// what killed saves left in the workspace is removed, and machines that no book knows are ended.
struct Homes {
    bool old = false; ///< those that were kept for their retention
    /// Instead: those of sessions that have had no machine for so long.
    std::optional<std::chrono::seconds> older_than;
};

} // namespace berth::session
