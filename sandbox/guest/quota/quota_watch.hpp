#pragma once

#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/quota/home_quota.hpp"
#include "sandbox/guest/quota/quota_level.hpp"
#include "sandbox/guest/workers.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace berth::guest {

/// Counts the home while commands run, and has the one stopped that makes it too large. Belongs to
/// the loop's thread, which it does not hold up: it is a worker that counts.
class QuotaWatch {
  public:
    struct Writer {
        std::string id;
        std::uint64_t written = 0; ///< to disks, since it began; 0 where the kernel does not tell
    };

    struct Host {
        /// Of the commands that run and are not being stopped, the newest last.
        std::function<std::vector<Writer>()> writers;
        /// Stops one of them, and calls `then` when it is gone.
        std::function<void(const std::string& id, std::string why, std::function<void()> then)>
            stop;
    };

    /// Between two counts, at least; also ten times as long as the last one took, so that counting
    /// takes a tenth of a processor at most. Twice as long each time nothing has changed. Sooner,
    /// after a tenth of that, where commands have written more than there may be room for.
    static constexpr std::chrono::milliseconds step{250};
    static constexpr std::chrono::milliseconds longest_step{2000};

    /// `workers` must outlive this, and end before the loop.
    QuotaWatch(EventLoop& loop, Workers& workers, std::shared_ptr<HomeQuota> quota, Host host);
    ~QuotaWatch();
    QuotaWatch(const QuotaWatch&) = delete;
    QuotaWatch& operator=(const QuotaWatch&) = delete;

    /// A command has begun.
    void began();

    /// Of a command that begins now, the largest file that it may write; 0: no limit. A home that
    /// is too large would else get larger with each command that is over before it can be stopped.
    [[nodiscard]] std::uint64_t file_limit();

    /// While the session is paused nothing is counted: nothing can write.
    void hold();
    void go_on();

  private:
    struct Count {
        std::optional<std::uint64_t> used;
        std::chrono::nanoseconds took{0};
    };

    void look_in(BootClock::duration time);
    void glance_in(BootClock::duration time);
    [[nodiscard]] bool may_exceed();
    [[nodiscard]] std::uint64_t since_count(const Writer& writer);
    void look();
    void count();
    void counted(std::uint64_t era, const Count& count);
    void stop_one(std::uint64_t used);
    void stopped();
    [[nodiscard]] const Writer* culprit(const std::vector<Writer>& writers);

    EventLoop& loop_;
    Workers& workers_;
    const std::shared_ptr<HomeQuota> quota_;
    const Host host_;
    QuotaLevel level_;
    const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    EventLoop::TimerId timer_ = 0;
    BootClock::time_point next_look_;
    bool kernel_tells_ = false; ///< what commands have written
    bool run_ = false;          ///< commands do
    bool held_ = false;
    bool counting_ = false;
    std::optional<BootClock::time_point> stopping_since_;
    std::uint64_t era_ = 0; ///< a count of an earlier one does not know that a command was stopped
    std::uint64_t last_used_ = 0;
    BootClock::duration step_ = step;
    std::unordered_map<std::string, std::uint64_t> written_; ///< at the last count that was fine
};

} // namespace berth::guest
