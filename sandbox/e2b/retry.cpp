#include "sandbox/e2b/retry.hpp"

#include <algorithm>
#include <charconv>
#include <random>

namespace berth::e2b {
namespace {

std::chrono::milliseconds part_of(std::chrono::milliseconds whole, double random) noexcept
{
    const double part = std::clamp(random, 0.0, 1.0);
    return std::chrono::milliseconds(
        static_cast<std::chrono::milliseconds::rep>(part * static_cast<double>(whole.count())));
}

} // namespace

std::chrono::milliseconds backoff(unsigned failures, double random) noexcept
{
    const unsigned doublings =
        std::min(std::max(failures, 1U), 8U); // beyond the longest in any case
    const auto bound = std::min(shortest_backoff * (1U << doublings), longest_backoff);
    return shortest_backoff + part_of(bound - shortest_backoff, random);
}

std::chrono::milliseconds spread(std::chrono::milliseconds time, double random) noexcept
{
    return time + part_of(time / 5, random);
}

double random_part()
{
    thread_local std::minstd_rand engine{std::random_device{}()};
    return std::uniform_real_distribution<double>()(engine);
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view value) noexcept
{
    unsigned seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    return whole && seconds <= longest_wait.count() ? std::optional(std::chrono::seconds(seconds))
                                                    : std::nullopt;
}

std::optional<std::chrono::milliseconds> wait_before_repeating(const Refused& refused,
                                                               Repeating repeating,
                                                               unsigned failures,
                                                               double random) noexcept
{
    const auto& [status, retry_after, passes] = refused;
    if (failures >= most_failures) {
        return std::nullopt;
    }
    if (status == 429 && retry_after) {
        // Never earlier than asked, and not all at once: a tenth more at most.
        const std::chrono::milliseconds asked =
            std::max<std::chrono::milliseconds>(*retry_after, std::chrono::seconds(1));
        return asked + part_of(asked / 10, random);
    }
    if (repeating == Repeating::uncertain) {
        return std::nullopt;
    }
    if (status == 503) {
        return retry_after ? std::max<std::chrono::milliseconds>(*retry_after, backoff(1, random))
                           : backoff(failures, random);
    }
    const bool in_trouble = status == 500 || status == 502 || status == 504;
    return passes || (in_trouble && failures < most_unanswered)
               ? std::optional(backoff(failures, random))
               : std::nullopt;
}

std::optional<std::chrono::milliseconds> wait_within(std::chrono::milliseconds wait,
                                                     std::chrono::milliseconds left,
                                                     bool may_shorten) noexcept
{
    constexpr std::chrono::seconds worth_halving{1};
    if (wait < left) {
        return wait;
    }
    return may_shorten && left >= worth_halving ? std::optional(left / 2) : std::nullopt;
}

std::optional<std::chrono::milliseconds> wait_after_break(unsigned failures, double random) noexcept
{
    constexpr std::chrono::milliseconds first{200};
    constexpr std::chrono::milliseconds later{1'000};
    if (failures >= most_unanswered) {
        return std::nullopt;
    }
    const auto least = failures <= 1 ? first : later;
    return least + part_of(least, random);
}

} // namespace berth::e2b
