#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): OpenSSL's
using EVP_PKEY = struct evp_pkey_st;

namespace berth::server::http {

/// base64url without padding (RFC 7515, 2); nothing for what is not exactly that.
[[nodiscard]] std::optional<std::string> base64url_decoded(std::string_view text);

/// A public key by which an issuer's tokens are known. Which algorithm it is for is decided by the
/// key and never by a token: else a token could say that the public key is the secret of an HMAC,
/// or that it needs none. Immutable; thread-safe.
class JwtKey {
  public:
    /// Of a JSON Web Key. Nothing for one that no token is checked by here: of another kind, for
    /// encryption, for another algorithm than RS256, ES256 or EdDSA (Ed25519). Throws
    /// Error(invalid_argument) for one that is wrong, weak (RSA below 2048 bits), or private.
    [[nodiscard]] static std::optional<JwtKey> from(const nlohmann::json& key);

    [[nodiscard]] const std::string& id() const noexcept { return id_; } ///< empty: it has none

    [[nodiscard]] const std::string& algorithm() const noexcept { return algorithm_; }

    [[nodiscard]] bool has_signed(std::string_view text, std::string_view signature) const;

  private:
    JwtKey(std::string id, std::string algorithm, std::shared_ptr<EVP_PKEY> key)
        : id_(std::move(id)), algorithm_(std::move(algorithm)), key_(std::move(key))
    {
    }

    std::string id_;
    std::string algorithm_;
    std::shared_ptr<EVP_PKEY> key_;
};

} // namespace berth::server::http
