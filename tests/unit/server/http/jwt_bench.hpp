#pragma once

#include "sandbox/base/base64.hpp"

#include <nlohmann/json.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tests {

using nlohmann::json;

inline std::string base64url(std::string_view bytes)
{
    auto text = base64_encode(bytes);
    text.erase(std::min(text.find('='), text.size()));
    for (auto& c : text) {
        c = c == '+' ? '-' : c == '/' ? '_' : c;
    }
    return text;
}

inline const unsigned char* raw(std::string_view text)
{
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what OpenSSL takes
    return reinterpret_cast<const unsigned char*>(text.data());
}

/// One that issues tokens: a pair of keys.
class JwtIssuer {
  public:
    /// `algorithm`: RS256, ES256 or EdDSA; `bits` of RSA.
    explicit JwtIssuer(std::string algorithm, unsigned bits = 2048)
        : algorithm_(std::move(algorithm)),
          key_(algorithm_ == "RS256" ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{bits})
               : algorithm_ == "ES256" ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")
                                       : EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"),
               EVP_PKEY_free)
    {
    }

    [[nodiscard]] json public_key(const std::string& id = "") const
    {
        json key = algorithm_ == "RS256"
                       ? json{{"kty", "RSA"}, {"n", number("n")}, {"e", number("e")}}
                   : algorithm_ == "ES256" ? json{{"kty", "EC"}, {"crv", "P-256"}}
                                           : json{{"kty", "OKP"}, {"crv", "Ed25519"}};
        if (algorithm_ == "ES256") {
            const auto point = octets();
            key["x"] = base64url(std::string_view(point).substr(1, 32));
            key["y"] = base64url(std::string_view(point).substr(33, 32));
        } else if (algorithm_ == "EdDSA") {
            key["x"] = base64url(octets());
        }
        if (!id.empty()) {
            key["kid"] = id;
        }
        return key;
    }

    [[nodiscard]] std::string sign(const json& head, const json& claims) const
    {
        const auto text = base64url(head.dump()) + '.' + base64url(claims.dump());
        return text + '.' + base64url(signature(text));
    }

  private:
    [[nodiscard]] std::string number(const char* name) const
    {
        BIGNUM* value = nullptr;
        EVP_PKEY_get_bn_param(key_.get(), name, &value);
        std::string bytes(static_cast<std::size_t>(BN_num_bytes(value)), '\0');
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
        BN_bn2bin(value, reinterpret_cast<unsigned char*>(bytes.data()));
        BN_free(value);
        return base64url(bytes);
    }

    [[nodiscard]] std::string octets() const
    {
        std::vector<unsigned char> bytes(256);
        std::size_t size = 0;
        EVP_PKEY_get_octet_string_param(key_.get(), OSSL_PKEY_PARAM_PUB_KEY, bytes.data(),
                                        bytes.size(), &size);
        return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
    }

    [[nodiscard]] std::string signature(const std::string& text) const
    {
        const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                         EVP_MD_CTX_free);
        EVP_DigestSignInit(context.get(), nullptr, algorithm_ == "EdDSA" ? nullptr : EVP_sha256(),
                           nullptr, key_.get());
        std::vector<unsigned char> bytes(2048);
        std::size_t size = bytes.size();
        EVP_DigestSign(context.get(), bytes.data(), &size, raw(text), text.size());
        return algorithm_ == "ES256"
                   ? two_numbers(bytes.data(), size)
                   : std::string(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    }

    static std::string two_numbers(const unsigned char* der, std::size_t size)
    {
        ECDSA_SIG* both = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size));
        std::vector<unsigned char> bytes(64);
        BN_bn2binpad(ECDSA_SIG_get0_r(both), bytes.data(), 32);
        BN_bn2binpad(ECDSA_SIG_get0_s(both), bytes.data() + 32, 32);
        ECDSA_SIG_free(both);
        return {bytes.begin(), bytes.end()};
    }

    std::string algorithm_;
    std::shared_ptr<EVP_PKEY> key_;
};

} // namespace berth::tests
