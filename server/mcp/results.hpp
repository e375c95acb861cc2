#pragma once

#include "server/mcp/era.hpp"
#include "server/mcp/offers.hpp"
#include "server/mcp/reply.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>

// Results of methods other than tools/call.

namespace berth::mcp {

// How long a client may keep a result, in milliseconds.
inline constexpr std::int64_t cached_long = 3'600'000; ///< until the server is started anew
inline constexpr std::int64_t cached_for_a_minute = 60'000;
inline constexpr std::int64_t cached_briefly = 5000;
inline constexpr std::int64_t cached_not = 0;

/// What 2026-07-28 wants to know of that, to follow other members; empty in the older revisions.
/// Never for others: texts and lists are of one caller and machine.
[[nodiscard]] std::string cache_members(Era era, std::int64_t milliseconds);

/// `members`: an object, which becomes a result.
[[nodiscard]] std::string result_of(const nlohmann::json& members, Era era,
                                    const Identity& identity,
                                    std::optional<std::int64_t> cached = {});

/// Throws Error(unsupported) for one that needs input, in a revision that has no such results.
[[nodiscard]] std::string result_of(const Outcome& outcome, Era era, const Identity& identity);

} // namespace berth::mcp
