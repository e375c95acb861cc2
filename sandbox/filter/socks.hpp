#pragma once

#include "sandbox/filter/rules.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::filter {

/// SOCKS 5 (RFC 1928), without authentication and for connections alone.
namespace socks {

inline constexpr char version = 5;
inline constexpr char older_version = 4; ///< is refused

/// Replies.
enum class Reply : std::uint8_t {
    succeeded = 0,
    failed = 1,
    not_allowed = 2,
    host_unreachable = 4,
    refused = 5,
    no_such_command = 7,
    no_such_address = 8,
};

/// Bytes that the greeting has; nothing: that cannot be told yet.
[[nodiscard]] std::optional<std::size_t> size_of_greeting(std::string_view bytes);

/// The answer to a whole greeting; `takes`: it offers to go without authentication.
struct Choice {
    std::string answer;
    bool takes = false;
};

[[nodiscard]] Choice choose(std::string_view greeting);

/// Bytes that the request behind it has; nothing: that cannot be told yet. Of what is no request
/// those that are there.
[[nodiscard]] std::optional<std::size_t> size_of_request(std::string_view bytes);

/// What a whole request wants: a target, or why it cannot be had.
struct Wanted {
    std::optional<Target> target;
    Reply refusal = Reply::failed;
    std::string reason; ///< of the refusal: a reply says as good as nothing
};

[[nodiscard]] Wanted read_request(std::string_view request);

[[nodiscard]] std::string answer(Reply reply);

/// To a request of the older version.
[[nodiscard]] std::string refusal_of_older();

} // namespace socks
} // namespace berth::filter
