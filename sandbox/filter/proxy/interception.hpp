#pragma once

#include "sandbox/filter/proxy/authority.hpp"
#include "sandbox/filter/proxy/tls_stream.hpp"

#include <openssl/types.h>

#include <memory>
#include <string>
#include <vector>

namespace berth::filter {

struct FreeContext {
    void operator()(SSL_CTX* context) const noexcept;
};

/// Both sides of TLS that the proxy opens: HTTP/1.1 over TLS 1.2 or later. Safe for several
/// threads.
class Interception {
  public:
    /// `certificates`: a file of whom servers are certified by; empty: the host's own. Throws
    /// std::runtime_error.
    Interception(const std::vector<Target>& servers, const std::string& certificates);

    /// For the sandbox.
    [[nodiscard]] const std::string& authority() const noexcept { return authority_.pem(); }

    /// Towards a client, in the place of the server. Throws the same.
    [[nodiscard]] Tls as_server(const Target& server) const;

    /// Towards the server itself, which must be certified. Throws the same.
    [[nodiscard]] Tls as_client(const Target& server) const;

  private:
    using Context = std::unique_ptr<SSL_CTX, FreeContext>;

    Authority authority_;
    Context server_;
    Context client_;
};

} // namespace berth::filter
