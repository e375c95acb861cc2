#pragma once

#include "sandbox/filter/rules.hpp"

#include <openssl/types.h>

#include <memory>
#include <string>
#include <vector>

namespace berth::filter {

struct FreeKey {
    void operator()(EVP_PKEY* key) const noexcept;
};

struct FreeCertificate {
    void operator()(X509* certificate) const noexcept;
};

using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Certificate = std::unique_ptr<X509, FreeCertificate>;

/// Certifies, to the clients of one session, the servers in whose place the proxy stands. Its keys
/// are made here and leave this process nowhere; its own certificate says that it certifies these
/// servers alone (RFC 5280, 4.2.1.10), so that a client which trusts it trusts no more by it.
class Authority {
  public:
    /// Throws std::runtime_error.
    explicit Authority(const std::vector<Target>& servers);

    /// Its own, in PEM.
    [[nodiscard]] const std::string& pem() const noexcept { return pem_; }

    /// A fresh one of a server, for server_key(). Safe for several threads. Throws the same.
    [[nodiscard]] Certificate certify(const Target& server) const;

    [[nodiscard]] EVP_PKEY* server_key() const noexcept { return server_key_.get(); }

  private:
    Key key_;
    Key server_key_;
    Certificate certificate_;
    std::string pem_;
};

} // namespace berth::filter
