#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <functional>
#include <string_view>

namespace berth::rpc {

/// What one message may cost. The values a document has bound the memory it turns into: without
/// that bound "[0,0,0,..." of 32 MiB becomes 270 MB.
struct ReadLimits {
    std::size_t depth = 64;
    std::size_t values = 1'000'000;
    /// Told of each so many bytes more that the document takes, roughly, before it has them; may
    /// throw, which ends the reading. Small documents tell nothing.
    std::function<void(std::size_t bytes)> grows{};
};

/// The data of the parse_error for a text that ends before its document does.
inline constexpr std::string_view cut_off_data = R"({"cut_off":true})";

/// Parses one JSON text. Throws ProtocolError: parse_error for what is not JSON or not UTF-8,
/// invalid_request beyond the limits and for a repeated key (RFC 8259 leaves its meaning open; two
/// readers that choose differently see two different requests).
[[nodiscard]] nlohmann::json read_json(std::string_view text, const ReadLimits& limits);

} // namespace berth::rpc
