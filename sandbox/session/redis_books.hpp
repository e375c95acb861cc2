#pragma once

#include "sandbox/session/redis_client.hpp"
#include "sandbox/session/registry.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::session {

/// What is written of one session, as it is kept in Redis.
struct RedisEntry {
    std::string record; ///< encode()
    std::string token;
    std::string last_used; ///< seconds since 1970
    std::string keep;      ///< milliseconds for which Redis keeps it without a use
    std::string revision;  ///< of a later writing it is greater
    std::string used;      ///< last_used by the host's clock; empty: not noted
};

/// Whether the record of a session is there, and if so how it looks.
struct RedisFound {
    bool damaged = false;
    std::optional<RedisEntry> entry;
};

/// The data set in Redis as this server knows it: it remembers the records of the sessions that it
/// uses, and writes them again when Redis was restarted and has lost them. Thread-safe.
class RedisBooks {
  public:
    /// Runs one of redis_scripts that are guarded; gives what follows the generation, and that in
    /// `generation`. Throws Error(sandbox_unavailable).
    std::vector<RedisReply> run(RedisClient& client, std::string_view script,
                                std::vector<std::string> keys, std::vector<std::string> arguments,
                                std::string* generation = nullptr);

    /// Of a session that this server uses or ends: what the data set of that generation has. Where
    /// another has been met since, the next look() writes it there too.
    void remember(const std::string& key, RedisEntry entry, const std::string& generation);
    void forget(const std::string& key);

    /// Notes the use of a session that has a record, and remembers it. Throws as run().
    void touch(RedisClient& client, const std::string& key);

    /// Writes again what was lost, if Redis was restarted. Throws as run().
    void look(RedisClient& client);

    [[nodiscard]] bool empty() const;

  private:
    [[nodiscard]] std::string revision_of(const std::string& key) const;
    void meet(RedisClient& client, std::string generation);
    void write_again(RedisClient& client, const std::string& generation, const std::string& key,
                     const RedisEntry& entry);

    std::mutex meeting_;       ///< held while what was lost is written again; taken before mutex_
    mutable std::mutex mutex_; ///< guards what follows
    std::string generation_;   ///< of the data set that has all that is remembered
    std::map<std::string, RedisEntry> remembered_;
    std::uint64_t changes_ = 0; ///< of remembered_, by remember()
};

/// What redis_keys::machines has of a session with that record; empty: nothing.
[[nodiscard]] std::string machine_mark(const Record& record);

/// Of what `find` and `touch` answer with "found".
[[nodiscard]] RedisFound found_in(const std::vector<RedisReply>& answer);

} // namespace berth::session
