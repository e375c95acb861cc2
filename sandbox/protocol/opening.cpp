// The low-level calls, as in sandbox/base/sha256.cpp: EVP would bring three megabytes of providers
// into the static guest for one cipher.
#define OPENSSL_SUPPRESS_DEPRECATED 1

#include "sandbox/protocol/opening.hpp"

#include "sandbox/base/random.hpp"
#include "sandbox/base/sha256.hpp"

#include <openssl/aes.h>
#include <openssl/crypto.h>
#include <openssl/modes.h>

#include <charconv>
#include <memory>
#include <new>
#include <stdexcept>

namespace berth::protocol {
namespace {

constexpr std::size_t nonce_size = 12;
constexpr std::size_t tag_size = 16;
static_assert(nonce_size + tag_size == opening_overhead);

template <std::size_t size>
std::array<unsigned char, size> bytes_of_hex(std::string_view hex)
{
    std::array<unsigned char, size> bytes{};
    for (std::size_t i = 0; i < size; ++i) {
        const auto digits = hex.substr(2 * i, 2);
        std::from_chars(digits.data(), digits.data() + digits.size(), bytes[i], 16);
    }
    return bytes;
}

const unsigned char* bytes_in(std::string_view text)
{
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the library calls bytes
    return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_in(std::string& text)
{
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the library calls bytes
    return reinterpret_cast<unsigned char*>(text.data());
}

/// One opening under way, in either direction.
class Gcm {
  public:
    Gcm(const OpeningKey& key, const unsigned char* nonce, std::string_view generation)
    {
        AES_set_encrypt_key(key.bytes.data(), static_cast<int>(key.bytes.size() * 8), &schedule_);
        context_.reset(CRYPTO_gcm128_new(
            &schedule_, [](const unsigned char* in, unsigned char* out, const void* schedule) {
                AES_encrypt(in, out, static_cast<const AES_KEY*>(schedule));
            }));
        if (!context_) {
            throw std::bad_alloc();
        }
        CRYPTO_gcm128_setiv(context_.get(), nonce, nonce_size);
        check(CRYPTO_gcm128_aad(context_.get(), bytes_in(generation), generation.size()));
    }

    Gcm(const Gcm&) = delete;
    Gcm& operator=(const Gcm&) = delete;

    ~Gcm() { OPENSSL_cleanse(&schedule_, sizeof schedule_); }

    void encrypt(std::string_view from, unsigned char* to)
    {
        check(CRYPTO_gcm128_encrypt(context_.get(), bytes_in(from), to, from.size()));
    }

    void decrypt(std::string_view from, unsigned char* to)
    {
        check(CRYPTO_gcm128_decrypt(context_.get(), bytes_in(from), to, from.size()));
    }

    void tag(unsigned char* to) { CRYPTO_gcm128_tag(context_.get(), to, tag_size); }

    /// In the same time whatever differs.
    [[nodiscard]] bool has_tag(std::string_view tag)
    {
        return CRYPTO_gcm128_finish(context_.get(), bytes_in(tag), tag.size()) == 0;
    }

  private:
    struct Release {
        void operator()(GCM128_CONTEXT* context) const { CRYPTO_gcm128_release(context); }
    };

    static void check(int failed)
    {
        if (failed != 0) {
            throw std::length_error("an opening of more bytes than may be sealed at once");
        }
    }

    AES_KEY schedule_{};
    std::unique_ptr<GCM128_CONTEXT, Release> context_;
};

} // namespace

OpeningKey opening_key(std::string_view token)
{
    Sha256 hash;
    hash.update("berth opening");
    hash.update(token);
    return {bytes_of_hex<sizeof(OpeningKey::bytes)>(hash.finish())};
}

std::string seal_opening(const OpeningKey& key, std::string_view generation,
                         std::string_view opening)
{
    const auto nonce = bytes_of_hex<nonce_size>(random_hex(nonce_size));
    std::string sealed(nonce.begin(), nonce.end());
    sealed.resize(opening.size() + opening_overhead);
    Gcm gcm(key, nonce.data(), generation);
    gcm.encrypt(opening, bytes_in(sealed) + nonce_size);
    gcm.tag(bytes_in(sealed) + nonce_size + opening.size());
    return sealed;
}

std::optional<std::string> open_opening(const OpeningKey& key, std::string_view generation,
                                        std::string_view sealed)
{
    if (sealed.size() < opening_overhead) {
        return std::nullopt;
    }
    Gcm gcm(key, bytes_in(sealed), generation);
    const auto body = sealed.substr(nonce_size, sealed.size() - opening_overhead);
    std::string opening(body.size(), '\0');
    gcm.decrypt(body, bytes_in(opening));
    if (!gcm.has_tag(sealed.substr(nonce_size + body.size()))) {
        return std::nullopt;
    }
    return opening;
}

} // namespace berth::protocol
