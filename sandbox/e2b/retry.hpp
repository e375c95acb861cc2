#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace berth::e2b {

inline constexpr std::chrono::milliseconds shortest_backoff{3'000};
inline constexpr std::chrono::milliseconds longest_backoff{60'000};

/// How long to wait after so many failures in a row (0 counts as 1): a random time from 3 s to a
/// bound that doubles with each, 6 s at first and 60 s at most, so that a thousand clients that
/// lost the same server do not come back in the same second. `random`: from 0 to 1.
[[nodiscard]] std::chrono::milliseconds backoff(unsigned failures, double random) noexcept;

/// `time` and up to a fifth more, for the same reason.
[[nodiscard]] std::chrono::milliseconds spread(std::chrono::milliseconds time,
                                               double random) noexcept;

/// From 0 to 1, another one in each thread and process.
[[nodiscard]] double random_part();

inline constexpr std::chrono::seconds longest_wait = std::chrono::hours(24);

/// The value of Retry-After in whole seconds; nothing for a date, a fraction or a word, and for
/// more than the longest wait.
[[nodiscard]] std::optional<std::chrono::seconds>
parse_retry_after(std::string_view value) noexcept;

enum class Repeating : unsigned char {
    safe,      ///< said twice it does what it does said once
    uncertain, ///< what was refused by a server in trouble may have been done: create
};

/// After so many failures nobody is asked again, whatever the deadline.
inline constexpr unsigned most_failures = 8;

/// And after so many of which nothing is known but that no answer of E2B's came.
inline constexpr unsigned most_unanswered = 3;

/// An answer that is no success.
struct Refused {
    int status = 0;
    std::optional<std::chrono::seconds> retry_after{};
    bool passes = false; ///< it says that the sandbox is between two states
};

/// How long to wait before the same request is sent again after this answer; nothing: it is not. A
/// create only where the outcome is known: after a 429 that says when. Of the rest it does not
/// matter how often it is done, so also after a 503, a 502 or 504 of a gateway that may have passed
/// it on, a 500 of a server that may have done part of it, and while another change of the same
/// sandbox goes on.
[[nodiscard]] std::optional<std::chrono::milliseconds>
wait_before_repeating(const Refused& refused, Repeating repeating, unsigned failures,
                      double random) noexcept;

/// `wait`, where it ends while something is `left` of the time to ask in. Where it does not, and
/// nobody has said when to ask (`may_shorten`), half of what is left, if that is a second or more:
/// whoever leaves in some seconds has no later time for it. Nothing: there is no time to ask again.
[[nodiscard]] std::optional<std::chrono::milliseconds> wait_within(std::chrono::milliseconds wait,
                                                                   std::chrono::milliseconds left,
                                                                   bool may_shorten) noexcept;

/// As wait_before_repeating(), of a request whose connection ended, or was not made, so many times:
/// soon at first, since most of it is a kept connection that its server has just closed.
[[nodiscard]] std::optional<std::chrono::milliseconds> wait_after_break(unsigned failures,
                                                                        double random) noexcept;

} // namespace berth::e2b
