#pragma once

#include "sandbox/base/process.hpp"
#include "sandbox/session/redis_connection.hpp"
#include "sandbox/session/redis_times.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <string>
#include <vector>

namespace berth::tests {

/// Debian's redis-server on a unix socket in a folder of its own, which ends with this object. At
/// first it is one that servers have known for long, so that nobody waits; after start() it is not.
/// Its data go with the process, unless `more` says otherwise. A test that needs one fails where
/// there is none: nothing is skipped.
class RedisServer {
  public:
    explicit RedisServer(std::vector<std::string> more = {});
    ~RedisServer();
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;

    [[nodiscard]] session::RedisAddress address() const;

    void kill(); ///< with SIGKILL; waits for its end
    void start();

    /// In the place of redis-cli. An error that Redis answers fails the test.
    session::RedisReply say(const std::vector<std::string>& words) const;

  private:
    void grow_old() const;

    TemporaryDirectory directory_;
    std::vector<std::string> more_;
    Process process_;
};

/// As in the product, but that a new Redis need not settle.
[[nodiscard]] inline session::RedisTimes settled()
{
    session::RedisTimes times;
    times.settling = std::chrono::milliseconds(1);
    return times;
}

} // namespace berth::tests
