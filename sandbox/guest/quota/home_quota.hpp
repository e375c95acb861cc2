#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/guest/quota/home_area.hpp"
#include "sandbox/guest/quota/home_room.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/messages.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace berth::guest {

/// The books of session.quota: how much the home has, by counting it, and what writing tools are
/// about to add. The guest keeps the limit, or the kernel does (docs/adr/0018-quota.md): then the
/// numbers are the kernel's, asked for each time, and the books only refuse beforehand what it
/// would refuse in the middle. Thread-safe; what counts blocks.
class HomeQuota {
  public:
    /// The limit is not 0.
    explicit HomeQuota(const protocol::GuestConfig& config);
    HomeQuota(const HomeQuota&) = delete;
    HomeQuota& operator=(const HomeQuota&) = delete;

    [[nodiscard]] bool is_by_kernel() const noexcept { return by_kernel_; }

    [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }

    /// Not 0. What was reserved before stays so. Not where the kernel keeps it.
    void set_limit(std::uint64_t limit) noexcept { limit_ = limit; }

    /// As far as it is known; `used` is absent before the first count.
    [[nodiscard]] protocol::QuotaState state() const;

    /// Counts the home anew, one at a time. Waits for its turn and counts at most so long each (0:
    /// no limit). Nothing when it was not done by then.
    std::optional<std::uint64_t> count(const std::stop_token& stop = {},
                                       std::chrono::milliseconds time = {});

    /// What is known holds no more: commands may have written, or files were put back.
    void doubt() noexcept;

    /// Commands run from now on, or no more: while they do, no count holds for long.
    void set_commands_run(bool run);

    /// No command runs, and nothing has changed since the last count but what went through the
    /// books.
    [[nodiscard]] bool is_exact() const;

    // ---- for QuotaShare

    [[nodiscard]] bool covers(std::string_view path) const noexcept { return area_.contains(path); }

    /// Throws Error(quota_exceeded), for which it has counted, when there is no room for `more`
    /// bytes of the file at `path`, for which `had` are reserved already.
    void reserve(std::string_view path, std::uint64_t more, std::uint64_t had,
                 const std::stop_token& stop);
    void give_back(std::uint64_t reserved) noexcept;
    /// What was reserved is in a file now, and what that replaced has gone.
    void settle(std::uint64_t reserved, std::uint64_t replaced) noexcept;

    /// Of a write to a file in the home that failed: where it is this limit that was in the way,
    /// Error(quota_exceeded) with its numbers, else the same error.
    [[nodiscard]] Error explain(const Error& error) const;

  private:
    [[nodiscard]] bool is_known() const; ///< with the mutex held
    [[nodiscard]] std::unique_lock<std::timed_mutex> turn(const std::stop_token& stop,
                                                          std::chrono::milliseconds time);
    std::optional<std::uint64_t> count_alone(const std::stop_token& stop,
                                             std::chrono::milliseconds time);
    [[nodiscard]] bool try_reserve(std::uint64_t more);
    [[nodiscard]] std::optional<HomeRoom> ask_kernel();
    [[nodiscard]] std::optional<std::uint64_t> used_of(const HomeRoom& room) const;
    void require_kernels(std::string_view path, std::uint64_t more);

    const HomeArea area_;
    const std::string home_;
    const std::string elsewhere_; ///< on the home's disk, and not of the home; may be empty
    const bool by_kernel_;
    std::atomic<std::uint64_t> limit_;
    std::timed_mutex counting_; ///< one count at a time
    mutable std::mutex mutex_;
    std::optional<std::uint64_t> counted_;
    std::uint64_t reserved_ = 0;
    std::uint64_t doubts_ = 0;
    std::uint64_t doubts_at_count_ = 0;
    bool commands_run_ = false;
    bool counts_ = false;     ///< a count is under way
    bool overlapped_ = false; ///< something was put in its place meanwhile
    std::chrono::steady_clock::time_point counted_at_;
};

} // namespace berth::guest
