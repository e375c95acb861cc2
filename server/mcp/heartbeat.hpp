#pragma once

#include "server/rpc/call.hpp"

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace berth::mcp {

/// Sends `notifications/progress` for calls whose client asked for it, so that it does not take a
/// long command for a dead server. One thread for all of them, started with the first. Thread-safe.
class Heartbeat {
  public:
    /// `interval` is what a client waits at most between two beats.
    explicit Heartbeat(std::chrono::milliseconds interval = std::chrono::seconds(8));
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

  private:
    using Clock = std::chrono::steady_clock;

    struct Entry {
        std::weak_ptr<rpc::Call> call;
        std::string token;
        std::string tool;
        Clock::time_point started;
        Clock::time_point next;
    };

  public:
    /// Beats for one call until it is destroyed.
    class Beat {
      public:
        Beat(Heartbeat& owner, std::list<Entry>::iterator entry) : owner_(owner), entry_(entry) {}

        ~Beat();
        Beat(const Beat&) = delete;
        Beat& operator=(const Beat&) = delete;

      private:
        Heartbeat& owner_;
        std::list<Entry>::iterator entry_;
    };

    /// `token` is JSON text as the client sent it; `tool` is named in the message.
    [[nodiscard]] std::unique_ptr<Beat> watch(const std::shared_ptr<rpc::Call>& call,
                                              std::string token, std::string tool);

  private:
    void run(const std::stop_token& stop);

    std::chrono::milliseconds interval_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::list<Entry> entries_; ///< in the order of `next`: all wait for the same time
    /// The thread sleeps without end, and must be woken for the first entry. It never is for the
    /// others, so a fast call costs no wake-up.
    bool asleep_ = false;
    std::jthread thread_;
};

} // namespace berth::mcp
