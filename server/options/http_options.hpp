#pragma once

#include "server/options/layers.hpp"
#include "server/options/options.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace berth::server {

/// ADDRESS:PORT taken apart; the address of IPv6 without its brackets.
struct HttpAddress {
    std::string address;
    std::uint16_t port = 0;

    /// Whether nothing beyond this host reaches it.
    [[nodiscard]] bool is_loopback() const;
};

/// Nothing where it is none: `localhost` and addresses are, other names are not, since what they
/// mean may change.
[[nodiscard]] std::optional<HttpAddress> parse_http_address(const std::string& text);

/// Throws Error(invalid_argument) for what cannot be served, and for what would let others in
/// without a word of the operator.
[[nodiscard]] HttpOptions make_http_options(const Layers& layers);

/// Throws Error(invalid_argument) for a flag that only a server of HTTP looks at, where `http` is
/// none: who has forgotten --http would wait for callers that cannot come. A file, or the
/// environment, may be that of several servers.
void require_http_for_flags(const Layers& layers, const HttpOptions& http);

} // namespace berth::server
