#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::mcp {

/// Notices when one caller sends the same call again and again and it ends the same way each time,
/// so that the reply can say so: an agent that loops seldom sees it by itself.
///
/// One for each caller (a client of stdio, a session of HTTP), so that no caller's calls count for
/// another's. Holds digests of at most `remembered` calls, never arguments or outcomes.
/// Thread-safe.
///
/// Failures are counted for each call by itself, with whatever comes between: to read a file and
/// then send the edit that did not match once more is the loop that is meant. A success of the
/// call, or another error, begins anew.
///
/// Commands that did their work and ended with a status other than 0 are counted more carefully,
/// since to run one again is often right: a test after an edit, a request until a server is up.
/// Only the very same command with the very same outcome counts, and only when nothing else was
/// called in between, so that nothing was done that could have changed it.
class Repetition {
  public:
    /// From so many times in a row on it is told.
    static constexpr std::uint64_t noticeable = 3;
    static constexpr std::size_t remembered = 64;

    /// A model does not answer faster: a call that comes sooner after a failure was sent before its
    /// sender had seen it, as the others of one turn are.
    static constexpr std::chrono::milliseconds reaction{250};

    using Clock = std::chrono::steady_clock;
    using Digest = std::string;
    /// Asked for only when it is needed: arguments may be large.
    using Identity = std::function<Digest()>;

    /// When a call came, in relation to others of this caller.
    struct Moment {
        std::uint64_t order = 0; ///< as work on them began
        Clock::time_point received;
    };

    /// `now`: another clock, for tests.
    explicit Repetition(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now))
    {
    }

    /// Work on a call begins that was read at `received`; it may have waited for its turn.
    [[nodiscard]] Moment begin(Clock::time_point received);

    /// How many times in a row this call has failed with this outcome, this time included, once
    /// that is noticeable; else 0. Calls that were sent together count together as one try for
    /// that: their sender had not seen any of them fail.
    [[nodiscard]] std::uint64_t failed(Moment began, const Identity& call, const Digest& outcome);

    /// A call did what it should; `tool` is what its identity begins with. Large arguments of a
    /// tool that has not failed are not looked at.
    void succeeded(std::string_view tool, const Identity& call);

    /// As failed(), of a command that ended with another status than 0.
    [[nodiscard]] std::uint64_t ended_alike(Moment began, const Identity& call,
                                            const Digest& outcome);

  private:
    struct Row {
        Digest call;
        Digest outcome;
        std::uint64_t times = 0; ///< in a row
        std::uint64_t tries = 0; ///< times, but of those sent together only one
        std::uint64_t told = 0;  ///< order of the last that had begun when the last end was known
        Clock::time_point told_at{};
    };

    [[nodiscard]] static std::uint64_t noticed(const Row& row);
    [[nodiscard]] static bool saw(const Moment& began, const Row& row);
    void tell(Row& row) const;
    void forget(const Digest& call);

    std::function<Clock::time_point()> now_;
    std::mutex mutex_;
    std::uint64_t begun_ = 0;  ///< guarded by mutex_, as all below
    std::vector<Row> rows_;    ///< of failures, the latest last
    std::optional<Row> ended_; ///< of the last call, if that was a command
};

} // namespace berth::mcp
