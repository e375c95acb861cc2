#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/session/redis_times.hpp"
#include "sandbox/session/redis_url.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct redisReader; // NOLINT(readability-identifier-naming): of hiredis

namespace berth::session {

struct RedisReply {
    enum class Kind : unsigned char { nothing, text, number, list, error };

    Kind kind = Kind::nothing;
    std::string text; ///< of an error: as Redis words it
    std::int64_t number = 0;
    std::vector<RedisReply> items;
};

/// The connection could not be made, or broke: worth nothing from here on. What was sent may have
/// been done.
class RedisBroken : public std::runtime_error {
  public:
    RedisBroken(const std::string& what, bool timed_out)
        : std::runtime_error(what), timed_out_(timed_out)
    {
    }

    [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }

  private:
    bool timed_out_;
};

/// One connection to a Redis: hiredis's protocol over a socket of our own, which no child inherits,
/// which raises no signal, and whose waits end as a whole, however the bytes dribble. Not
/// thread-safe.
class RedisConnection {
  public:
    /// Connects. Speaks to nobody yet: see RedisClient. Throws RedisBroken.
    RedisConnection(const RedisAddress& address, const RedisTimes& times);

    /// Sends and waits for the answer, which may be an error. Throws RedisBroken.
    [[nodiscard]] RedisReply command(const std::vector<std::string>& words);

  private:
    struct EndOfReader {
        void operator()(redisReader* reader) const noexcept;
    };

    void send(std::string_view bytes, const Deadline& deadline);
    void receive(const Deadline& deadline);

    std::chrono::milliseconds patience_;
    UniqueFd socket_;
    std::unique_ptr<redisReader, EndOfReader> reader_;
};

} // namespace berth::session
