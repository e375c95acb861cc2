#include "server/http/jwt_key.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/error.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace berth::server::http {
namespace {

using nlohmann::json;

template <auto Free>
struct Freed {
    template <class T>
    void operator()(T* object) const noexcept
    {
        Free(object);
    }
};

template <class T, auto Free>
using Owned = std::unique_ptr<T, Freed<Free>>;
using Number = Owned<BIGNUM, BN_free>;
using Parameters = Owned<OSSL_PARAM, OSSL_PARAM_free>;
using Builder = Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using KeyContext = Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using DigestContext = Owned<EVP_MD_CTX, EVP_MD_CTX_free>;
using Signature = Owned<ECDSA_SIG, ECDSA_SIG_free>;

constexpr int least_rsa_bits = 2048;
constexpr int most_rsa_bits = 16384; // above it a check takes long
constexpr std::size_t coordinate_size = 32;
constexpr const char* key_form = "A JSON Web Key Set has the public keys of the issuer, as its "
                                 "jwks_uri serves them (RFC 7517).";

[[noreturn]] void refuse_key(const std::string& why)
{
    throw Error(ErrorCode::invalid_argument, "a key " + why, key_form);
}

const unsigned char* bytes_of(std::string_view text)
{
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what OpenSSL takes
    return reinterpret_cast<const unsigned char*>(text.data());
}

std::string bytes_member(const json& key, const char* member)
{
    auto bytes = base64url_decoded(rpc::text_member(key, member));
    if (!bytes || bytes->empty()) {
        refuse_key(std::string("has no \"") + member + "\" that is base64url");
    }
    return std::move(*bytes);
}

std::shared_ptr<EVP_PKEY> shared(EVP_PKEY* key)
{
    if (key == nullptr) {
        refuse_key("cannot be used");
    }
    return {key, EVP_PKEY_free};
}

std::shared_ptr<EVP_PKEY> made_of(const char* kind, OSSL_PARAM_BLD* builder)
{
    const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
    const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
    EVP_PKEY* key = nullptr;
    if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
        refuse_key("is none of its kind");
    }
    auto made = shared(key);
    const KeyContext check(EVP_PKEY_CTX_new_from_pkey(nullptr, made.get(), nullptr));
    if (!check || EVP_PKEY_public_check_quick(check.get()) != 1) {
        refuse_key("is none of its kind"); // as a point that is not on the curve
    }
    return made;
}

std::shared_ptr<EVP_PKEY> rsa_key(const json& key)
{
    const auto modulus = bytes_member(key, "n");
    const auto exponent = bytes_member(key, "e");
    const Number n(BN_bin2bn(bytes_of(modulus), static_cast<int>(modulus.size()), nullptr));
    const Number e(BN_bin2bn(bytes_of(exponent), static_cast<int>(exponent.size()), nullptr));
    const Builder builder(OSSL_PARAM_BLD_new());
    if (!n || !e || !builder || BN_num_bits(n.get()) < least_rsa_bits ||
        BN_num_bits(n.get()) > most_rsa_bits || BN_num_bits(e.get()) > 64 ||
        BN_is_odd(e.get()) == 0 || BN_is_one(e.get()) == 1 ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
        refuse_key("of RSA has less than 2048 bits, or more than 16384, or no odd exponent");
    }
    return made_of("RSA", builder.get());
}

std::shared_ptr<EVP_PKEY> p256_key(const json& key)
{
    const auto x = bytes_member(key, "x");
    const auto y = bytes_member(key, "y");
    if (x.size() != coordinate_size || y.size() != coordinate_size) {
        refuse_key("of P-256 has no coordinates of 32 bytes");
    }
    const auto point = '\x04' + x + y;
    const Builder builder(OSSL_PARAM_BLD_new());
    if (!builder ||
        OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1",
                                        0) != 1 ||
        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) != 1) {
        refuse_key("cannot be used");
    }
    return made_of("EC", builder.get());
}

std::shared_ptr<EVP_PKEY> ed25519_key(const json& key)
{
    const auto x = bytes_member(key, "x");
    if (x.size() != coordinate_size) {
        refuse_key("of Ed25519 has no 32 bytes");
    }
    return shared(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(x), x.size()));
}

/// Whether it is there to check signatures, as far as it says what it is for.
bool is_for_checking(const json& key, const std::string& algorithm)
{
    const auto use = rpc::text_member(key, "use");
    const auto said = rpc::text_member(key, "alg");
    const auto operations = key.find("key_ops");
    const bool may = operations == key.end() || !operations->is_array() ||
                     std::ranges::find(*operations, json("verify")) != operations->end();
    return (use.empty() || use == "sig") && (said.empty() || said == algorithm) && may;
}

/// JSON Web Signatures have both numbers one after the other (RFC 7518, 3.4), OpenSSL wants DER.
std::string der_of(std::string_view signature)
{
    if (signature.size() != 2 * coordinate_size) {
        return {};
    }
    Number r(BN_bin2bn(bytes_of(signature), coordinate_size, nullptr));
    Number s(BN_bin2bn(bytes_of(signature.substr(coordinate_size)), coordinate_size, nullptr));
    const Signature both(ECDSA_SIG_new());
    if (!r || !s || !both || ECDSA_SIG_set0(both.get(), r.get(), s.get()) != 1) {
        return {};
    }
    for (auto* const number : {&r, &s}) { // they are its own now
        [[maybe_unused]] auto* const given = number->release();
    }
    unsigned char* coded = nullptr;
    const int size = i2d_ECDSA_SIG(both.get(), &coded);
    const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owned(
        coded, [](unsigned char* memory) { OPENSSL_free(memory); });
    return size > 0 ? std::string(coded, coded + size) : std::string();
}

} // namespace

std::optional<std::string> base64url_decoded(std::string_view text)
{
    std::string plain;
    plain.reserve(text.size() + 3);
    for (const char c : text) {
        const bool is_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!is_digit) {
            return std::nullopt;
        }
        plain += c == '-' ? '+' : c == '_' ? '/' : c;
    }
    plain.append((4 - plain.size() % 4) % 4, '=');
    return base64_decode(plain);
}

std::optional<JwtKey> JwtKey::from(const json& key)
{
    if (!key.is_object()) {
        refuse_key("is no JSON object");
    }
    if (key.contains("d") || key.contains("k")) {
        refuse_key("is private, or a secret that both sides share: whoever reads the file could "
                   "make tokens");
    }
    const auto kind = rpc::text_member(key, "kty");
    const auto curve = rpc::text_member(key, "crv");
    const std::string algorithm = kind == "RSA"                         ? "RS256"
                                  : kind == "EC" && curve == "P-256"    ? "ES256"
                                  : kind == "OKP" && curve == "Ed25519" ? "EdDSA"
                                                                        : "";
    if (algorithm.empty() || !is_for_checking(key, algorithm)) {
        return std::nullopt; // of others an issuer may have more, which are not for us
    }
    return JwtKey(rpc::text_member(key, "kid"), algorithm,
                  algorithm == "RS256"   ? rsa_key(key)
                  : algorithm == "ES256" ? p256_key(key)
                                         : ed25519_key(key));
}

bool JwtKey::has_signed(std::string_view text, std::string_view signature) const
{
    const bool is_edwards = algorithm_ == "EdDSA";
    const auto der = algorithm_ == "ES256" ? der_of(signature) : std::string(signature);
    const DigestContext context(EVP_MD_CTX_new());
    return context && !der.empty() &&
           EVP_DigestVerifyInit(context.get(), nullptr, is_edwards ? nullptr : EVP_sha256(),
                                nullptr, key_.get()) == 1 &&
           EVP_DigestVerify(context.get(), bytes_of(der), der.size(), bytes_of(text),
                            text.size()) == 1;
}

} // namespace berth::server::http
