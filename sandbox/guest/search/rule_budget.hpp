#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace berth::guest::search {

/// How many ignore rules the directories that a walk is in may have together, and all walks of
/// the process: a cloned repository whose ignore files have a million two-byte lines would
/// otherwise fill the guest's memory with patterns. Thread-safe.
class RuleBudget {
  public:
    /// In weight: a plain name is 1, every slash and wildcard of a rule one more.
    static constexpr std::size_t max_of_walk = 50'000;
    static constexpr std::size_t max_of_process = 100'000;

    [[nodiscard]] bool take(std::size_t weight) noexcept;
    void give_back(std::size_t weight) noexcept;

    void note_capped_file() noexcept { ++capped_files_; }

    /// Ignore files of which rules were left out.
    [[nodiscard]] std::uint64_t capped_files() const noexcept { return capped_files_; }

  private:
    std::atomic<std::size_t> used_ = 0;
    std::atomic<std::uint64_t> capped_files_ = 0;
};

/// What one directory's rules took of a budget that outlives it; given back at the end.
class RuleLease {
  public:
    explicit RuleLease(RuleBudget& budget) noexcept : budget_(budget) {}

    RuleLease(const RuleLease&) = delete;
    RuleLease& operator=(const RuleLease&) = delete;

    ~RuleLease() { budget_.give_back(weight_); }

    [[nodiscard]] bool take(std::size_t weight) noexcept
    {
        const bool granted = budget_.take(weight);
        weight_ += granted ? weight : 0;
        return granted;
    }

    [[nodiscard]] RuleBudget& budget() const noexcept { return budget_; }

  private:
    RuleBudget& budget_;
    std::size_t weight_ = 0;
};

} // namespace berth::guest::search
