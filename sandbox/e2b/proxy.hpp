#pragma once

#include "sandbox/e2b/endpoint.hpp"
#include "sandbox/e2b/settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace berth::e2b {

/// An HTTP proxy: TLS goes through it by CONNECT, so that it sees nothing but the host's name.
struct Proxy {
    std::string host;
    std::uint16_t port = 80;
    std::string user;
    std::string password; ///< never in a log, a message or an answer

    friend bool operator==(const Proxy&, const Proxy&) = default;
};

/// HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or the same in small letters, which count first.
class ProxyRules {
  public:
    /// None.
    ProxyRules() = default;

    /// [http://][USER[:PASSWORD]@]HOST[:PORT][/]. NO_PROXY: names and numbers separated by commas;
    /// one stands for what is below it too, with or without a dot before it, and may have a :PORT;
    /// * is everything. No ranges (10.0.0.0/8). Throws Error(invalid_argument), which names the
    /// variable and quotes nothing.
    [[nodiscard]] static ProxyRules read(const Variables& variables);

    /// Nothing: it is spoken to directly, as everything on this host always is.
    [[nodiscard]] std::optional<Proxy> for_endpoint(const Endpoint& endpoint) const;

  private:
    [[nodiscard]] bool is_exempt(const Endpoint& endpoint) const;

    std::optional<Proxy> tls_;
    std::optional<Proxy> plain_;
    std::vector<std::string> exempt_; ///< in small letters, without the dot before
};

} // namespace berth::e2b
