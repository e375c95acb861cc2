// The low-level calls are deprecated in OpenSSL 3 in favour of EVP, which would pull three
// megabytes of provider code into the static guest for one hash.
#define OPENSSL_SUPPRESS_DEPRECATED 1

#include "sandbox/base/sha256.hpp"

#include "sandbox/base/hex.hpp"

#include <openssl/sha.h>

#include <array>

namespace berth {

struct Sha256::State {
    SHA256_CTX context{};
};

Sha256::Sha256() : state_(std::make_unique<State>())
{
    SHA256_Init(&state_->context);
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, std::size_t size) noexcept
{
    SHA256_Update(&state_->context, data, size);
}

std::string Sha256::finish()
{
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256_Final(digest.data(), &state_->context);
    return hex_of({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string sha256_hex(std::string_view data)
{
    Sha256 hash;
    hash.update(data);
    return hash.finish();
}

} // namespace berth
