#include "sandbox/base/sha256.hpp"
#include "sandbox/protocol/opening.hpp"

#include <doctest/doctest.h>
#include <openssl/evp.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>

using berth::sha256_hex;
using berth::protocol::open_opening;
using berth::protocol::opening_key;
using berth::protocol::opening_overhead;
using berth::protocol::OpeningKey;
using berth::protocol::seal_opening;

namespace {

const std::string token = "0123456789abcdef0123456789abcdef";
const std::string generation = "generation-1";

std::string bytes(std::string_view hex)
{
    std::string out;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    }
    return out;
}

std::string hex_of(const OpeningKey& key)
{
    std::string hex;
    for (const auto byte : key.bytes) {
        hex += "0123456789abcdef"[byte >> 4U];
        hex += "0123456789abcdef"[byte & 15U];
    }
    return hex;
}

const unsigned char* data_of(const std::string& text)
{
    return reinterpret_cast<const unsigned char*>(text.data());
}

/// By the half of the library that is not used otherwise, which knows nothing of how it was sealed.
std::string opened_by_another(const OpeningKey& key, const std::string& machine,
                              const std::string& sealed)
{
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
        EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
    const int size = static_cast<int>(sealed.size() - opening_overhead);
    std::string opened(static_cast<std::size_t>(size) + 16, '\0');
    auto* out = reinterpret_cast<unsigned char*>(opened.data());
    auto tag = sealed.substr(sealed.size() - 16);
    int length = 0;
    EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.bytes.data(),
                       data_of(sealed));
    EVP_DecryptUpdate(context.get(), nullptr, &length, data_of(machine),
                      static_cast<int>(machine.size()));
    EVP_DecryptUpdate(context.get(), out, &length, data_of(sealed) + 12, size);
    CHECK(length == size);
    EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, 16, tag.data());
    CHECK(EVP_DecryptFinal_ex(context.get(), out + size, &length) == 1);
    opened.resize(static_cast<std::size_t>(size));
    return opened;
}

} // namespace

TEST_CASE("the key of an opening is made of the token, and is not the token's own hash")
{
    CHECK(hex_of(opening_key(token)) == sha256_hex("berth opening" + token));
    CHECK(hex_of(opening_key(token)) != sha256_hex(token));
}

TEST_CASE("what is sealed is AES-256-GCM as its specification has it")
{
    // Test cases 13 and 14 of the specification of GCM: a key, a nonce and a text of zeros.
    const OpeningKey zeros;
    const std::string nonce(12, '\0');
    CHECK(open_opening(zeros, "", nonce + bytes("530f8afbc74536b9a963b4f1c4cb738b")) == "");
    CHECK(open_opening(zeros, "",
                       nonce + bytes("cea7403d4d606b6e074ec5d3baf39d18"
                                     "d0d1c8a799996bf0265b98b5d48ab919")) == std::string(16, '\0'));
    const auto key = opening_key(token);
    for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 1000U, 400'000U}) {
        CAPTURE(size);
        const std::string opening(size, 'o');
        CHECK((opened_by_another(key, generation, seal_opening(key, generation, opening)) ==
               opening));
    }
}

TEST_CASE("what was sealed is opened to the byte, and is longer by what was said")
{
    const auto key = opening_key(token);
    std::string all;
    for (int i = 0; i < 100'000; ++i) {
        all += static_cast<char>(i * 7);
    }
    for (const std::size_t size : {0U, 1U, 16U, 255U, 100'000U}) {
        const auto opening = all.substr(0, size);
        const auto sealed = seal_opening(key, generation, opening);
        CHECK(sealed.size() == size + opening_overhead);
        CHECK((open_opening(key, generation, sealed) == opening));
    }
}

TEST_CASE("the same opening is never the same bytes, and nothing of it is to be seen")
{
    const auto key = opening_key(token);
    const std::string opening = "secret secret secret secret " + token;
    std::set<std::string> nonces;
    for (int i = 0; i < 200; ++i) {
        const auto sealed = seal_opening(key, generation, opening);
        nonces.insert(sealed.substr(0, 12));
        CHECK(sealed.find("secret") == std::string::npos);
        CHECK(sealed.find(generation) == std::string::npos);
    }
    CHECK(nonces.size() == 200);
}

TEST_CASE("another key or another generation opens nothing")
{
    const auto key = opening_key(token);
    const auto sealed = seal_opening(key, generation, "opening");
    CHECK_FALSE(open_opening(opening_key(token + '0'), generation, sealed));
    CHECK_FALSE(open_opening(opening_key(""), generation, sealed));
    CHECK_FALSE(open_opening(key, "generation-2", sealed));
    CHECK_FALSE(open_opening(key, "", sealed));
    CHECK_FALSE(open_opening(key, generation + '\0', sealed));
    CHECK(open_opening(key, generation, sealed) == "opening");
}

TEST_CASE("a bit that was changed, a byte that is missing or one too many: nothing is opened")
{
    const auto key = opening_key(token);
    const auto sealed = seal_opening(key, generation, "an opening of some bytes");
    for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
        auto changed = sealed;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
        CHECK_FALSE(open_opening(key, generation, changed));
    }
    for (std::size_t size = 0; size < sealed.size(); ++size) {
        CHECK_FALSE(open_opening(key, generation, std::string_view(sealed).substr(0, size)));
        CHECK_FALSE(
            open_opening(key, generation, std::string_view(sealed).substr(sealed.size() - size)));
    }
    CHECK_FALSE(open_opening(key, generation, sealed + '\0'));
    CHECK_FALSE(open_opening(key, generation, sealed + sealed));
    const auto other = seal_opening(key, generation, "an opening of some bytes");
    CHECK_FALSE(open_opening(key, generation, other.substr(0, 12) + sealed.substr(12)));
    CHECK_FALSE(open_opening(key, generation, sealed.substr(0, 20) + other.substr(20)));
}
