#pragma once

#include "server/http/jwt_key.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace berth::server::http {

/// Those keys of a JSON Web Key Set that a token can be checked by; there may be none. Throws
/// Error(invalid_argument): no set, a key that is wrong (JwtKey::from()), or two of one id.
[[nodiscard]] std::vector<JwtKey> read_jwt_keys(std::string_view text);

/// What a token must say.
struct JwtRules {
    std::string issuer;
    std::string audience;
    std::string principal = "sub"; ///< the claim that names who calls
};

/// Who calls by that token, and why not.
struct JwtVerdict {
    std::string principal; ///< empty: nobody
    std::string why;       ///< of a refusal: fit for a log, quotes nothing of the token
};

/// Whether a token has the form of a JWT at all; others are looked for elsewhere.
[[nodiscard]] bool looks_like_jwt(std::string_view token) noexcept;

/// Checks a JWT access token (RFC 7519, 9068): signature, issuer, audience, times (with half a
/// minute of leeway). The signature is looked at before anything that it says is believed.
[[nodiscard]] JwtVerdict check_jwt(std::string_view token, const std::vector<JwtKey>& keys,
                                   const JwtRules& rules,
                                   std::chrono::system_clock::time_point now);

} // namespace berth::server::http
