#pragma once

#include "server/rpc/call.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace berth::mcp {

/// Sends `notifications/progress` for calls whose client asked for it: what the call has to say of
/// itself soon after it says so, and otherwise that time passes, so that the client does not take a
/// long command for a dead server. One thread for all of them, started with the first; of each it
/// keeps the newest word only, and while a client does not read, that waits. Thread-safe.
class Heartbeat {
  public:
    /// `interval` is what a client waits at most between two notifications, `apart` what is at
    /// least between them while there is something new, and before the first.
    explicit Heartbeat(std::chrono::milliseconds interval = std::chrono::seconds(8),
                       std::chrono::milliseconds apart = std::chrono::seconds(1));
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

  private:
    using Clock = std::chrono::steady_clock;

    struct Entry;
    using Entries = std::list<std::shared_ptr<Entry>>;

    struct Entry {
        std::weak_ptr<rpc::Call> call;
        std::string token;
        std::string tool;
        Clock::time_point started;
        Clock::time_point told; ///< the last time; at first, when it started
        Clock::time_point next = {};
        std::string message = {};    ///< the newest word
        bool news = false;           ///< that has not been sent
        std::int64_t tenths = 0;     ///< of a second: the progress that was told last
        Entries::iterator self = {}; ///< in the list, until the call has ended
        bool ended = false;
    };

  public:
    /// Beats for one call until it is destroyed.
    class Beat {
      public:
        Beat(Heartbeat& owner, std::shared_ptr<Entry> entry)
            : owner_(owner), entry_(std::move(entry))
        {
        }

        ~Beat();
        Beat(const Beat&) = delete;
        Beat& operator=(const Beat&) = delete;

        /// The newest word on how far the call is, as tools::Progress has it. Does not wait for the
        /// client.
        void say(std::string message);

      private:
        Heartbeat& owner_;
        std::shared_ptr<Entry> entry_;
    };

    /// `token` is JSON text as the client sent it; `tool` is named in the message.
    [[nodiscard]] std::unique_ptr<Beat> watch(const std::shared_ptr<rpc::Call>& call,
                                              std::string token, std::string tool);

  private:
    void run(const std::stop_token& stop);
    void tell(Entry& entry, std::unique_lock<std::mutex>& lock);
    void place(Entry& entry, Clock::time_point next);
    void wake_for(Clock::time_point next);

    std::chrono::milliseconds interval_;
    std::chrono::milliseconds apart_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    Entries entries_; ///< in the order of `next`, but for the one that is being told
    /// When the thread wakes by itself. It is woken only for what is due before: a fast call costs
    /// no wake-up.
    Clock::time_point wakes_ = Clock::time_point::max();
    std::jthread thread_;
};

} // namespace berth::mcp
