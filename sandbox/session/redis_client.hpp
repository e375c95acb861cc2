#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/session/redis_connection.hpp"
#include "sandbox/session/redis_times.hpp"
#include "sandbox/session/redis_url.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace berth::session {

/// Speaks to one Redis: connects when it is needed, again when the connection broke, and tells what
/// is wrong as an Error of berth's. Thread-safe; commands wait for each other.
class RedisClient {
  public:
    RedisClient(RedisAddress address, RedisTimes times);

    /// Runs a script. One that is sent twice, as a connection broke, must do no more than one that
    /// is sent once. Throws Error(sandbox_unavailable), within the times for connecting and one
    /// command; while others have just failed, at once.
    [[nodiscard]] RedisReply run(std::string_view script, const std::vector<std::string>& keys,
                                 const std::vector<std::string>& arguments);

    /// Makes sure that the data set has a generation: a mark that it loses with its data, and that
    /// is replaced after each restart of Redis, since what came last may be missing then. Done with
    /// each new connection; needed when a script has found no mark. Throws as run().
    void mark_generation();

    [[nodiscard]] const RedisAddress& address() const noexcept { return address_; }

  private:
    [[nodiscard]] RedisReply converse(const std::vector<std::string>& words);
    [[nodiscard]] RedisReply checked(RedisReply reply) const;
    void introduce();
    void select();
    void arrive();
    [[nodiscard]] Error unreachable(const std::string& why) const;
    [[nodiscard]] Error refused(const std::string& why) const;

    const RedisAddress address_;
    const RedisTimes times_;
    std::mutex mutex_;                            ///< guards what follows
    std::unique_ptr<RedisConnection> connection_; ///< null: none
    BootClock::time_point rested_;
    std::string trouble_; ///< of the latest attempt
};

} // namespace berth::session
