#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/guest/search/search_limits.hpp"

#include <cstddef>

namespace berth::guest::search {

/// Asked before every look at text. A regular expression whose every match is looked for up to the
/// end of the text takes hours for a few megabytes: neither the search's time nor a cancellation
/// may have to wait for the next block, nor may one such block use up the time of all files. For
/// one thread.
class ScanMeter {
  public:
    explicit ScanMeter(SearchLimits& limits) noexcept : limits_(limits) {}

    void begin_block() noexcept
    {
        deadline_ = limits_.block_deadline();
        scanned_ = 0;
        exhausted_ = false;
    }

    /// False: this block is to be left. `bytes`: at most so many will be looked at.
    [[nodiscard]] bool may_scan(std::size_t bytes) noexcept
    {
        constexpr std::size_t bytes_between_checks = 64U << 10;
        scanned_ += bytes;
        if (scanned_ >= bytes_between_checks) {
            scanned_ = 0;
            exhausted_ = exhausted_ || limits_.must_stop() || deadline_.expired();
        }
        return !exhausted_;
    }

    /// What comes next is too much to be looked at without a pause.
    void give_up() noexcept { exhausted_ = true; }

    /// The last block was left before its end.
    [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }

  private:
    SearchLimits& limits_;
    Deadline deadline_;
    std::size_t scanned_ = 0;
    bool exhausted_ = false;
};

} // namespace berth::guest::search
