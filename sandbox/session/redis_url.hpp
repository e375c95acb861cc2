#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::session {

/// Where a Redis answers, and as whom to speak to it.
struct RedisAddress {
    std::string host; ///< a name or a number; empty: `socket` counts
    std::uint16_t port = 6379;
    std::string socket;   ///< absolute path of a unix socket
    std::string user;     ///< empty: Redis's default user
    std::string password; ///< never in a log, a message or an answer
    std::uint32_t database = 0;

    /// For people: as a URL without user and password.
    [[nodiscard]] std::string shown() const;

    friend bool operator==(const RedisAddress&, const RedisAddress&) = default;
};

/// redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE] or
/// unix://[USER[:PASSWORD]@]/PATH[?db=DATABASE]; user, password and path may have %XX in them.
/// Throws Error(invalid_argument) that says what is wrong and quotes nothing: a password that was
/// written wrongly may be anywhere in the text.
[[nodiscard]] RedisAddress parse_redis_url(std::string_view url);

} // namespace berth::session
