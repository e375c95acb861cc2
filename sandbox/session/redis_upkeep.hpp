#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/session/redis_books.hpp"
#include "sandbox/session/redis_client.hpp"
#include "sandbox/session/redis_times.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace berth::session {

/// A key in Redis that is ours while we renew it.
class RedisHeld {
  public:
    /// `begun`: a time before Redis was asked for it.
    RedisHeld(std::string name, std::string value, std::chrono::milliseconds expiry, bool anew,
              BootClock::time_point begun);

    /// Whether nobody else can have it.
    [[nodiscard]] bool holds() const noexcept;

    [[nodiscard]] const std::string& value() const noexcept { return value_; }

    /// Throws Error(sandbox_unavailable).
    void renew(RedisClient& client);

    /// Does not throw: what cannot be given back expires.
    void release(RedisClient& client) noexcept;

  private:
    const std::string name_;
    const std::string value_;
    const std::chrono::milliseconds expiry_;
    const bool anew_;          ///< taken again where it is gone and nobody else has it
    std::mutex talking_;       ///< held while Redis is asked; taken before mutex_
    bool over_ = false;        ///< lost or released; under talking_
    mutable std::mutex mutex_; ///< guards what follows
    bool lost_ = false;
    BootClock::time_point ours_until_;
};

/// What a server owes to Redis between its calls, on a thread and a connection of their own, so
/// that no call waits for it: renewing what is held, noting uses, and seeing within a second that
/// Redis was restarted. The thread begins with the first of them. Thread-safe.
class RedisUpkeep {
  public:
    RedisUpkeep(const RedisAddress& address, const RedisTimes& times, RedisBooks& books);
    ~RedisUpkeep(); ///< notes what is left to note, if Redis answers
    RedisUpkeep(const RedisUpkeep&) = delete;
    RedisUpkeep& operator=(const RedisUpkeep&) = delete;

    void keep(const std::shared_ptr<RedisHeld>& held);
    void drop(const std::shared_ptr<RedisHeld>& held) noexcept;

    /// The session is in use; noted soon.
    void note_use(const std::string& key);

    /// Notes it now, through `client`, where that is still to be done. Throws
    /// Error(sandbox_unavailable).
    void note_now(RedisClient& client, const std::string& key);

    /// From here on something is remembered: a restart must be seen.
    void watch();

  private:
    void begin(); ///< under mutex_
    void work(const std::stop_token& stop);
    void attend(bool renew) noexcept;
    void renew_all();
    void note_all();
    bool note_next(std::string& last);
    void note(RedisClient& client, const std::string& key);

    const RedisTimes times_;
    RedisBooks& books_;
    RedisClient client_;
    std::mutex noting_; ///< held while a use is noted: who finds none left sees it in the books
    std::mutex mutex_;  ///< guards what follows; taken last
    std::condition_variable_any changed_;
    std::vector<std::shared_ptr<RedisHeld>> held_;
    std::set<std::string> uses_;
    std::string being_noted_; ///< just now, under noting_, and in uses_ no more; else empty
    bool urgent_ = false;     ///< something came that shall not wait for the next round
    std::jthread thread_;
};

} // namespace berth::session
