#include "tests/conformance/requests.hpp"

#include "sandbox/base/random.hpp"
#include "server/rpc/error.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

namespace berth::conformance {
namespace {

const std::string& secret()
{
    static const std::string made = random_hex(32);
    return made;
}

std::string seal_of(const std::string& text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
    unsigned size = 0;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's type of bytes
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
    ::HMAC(::EVP_sha256(), secret().data(), static_cast<int>(secret().size()), bytes, text.size(),
           code.data(), &size);
    std::string hex;
    for (unsigned i = 0; i < size; ++i) {
        constexpr std::string_view digits = "0123456789abcdef";
        hex += digits[code.at(i) >> 4U];
        hex += digits[code.at(i) & 15U];
    }
    return hex;
}

} // namespace

const json* answer_to(const json& params, const std::string& key)
{
    const auto answers = params.find("inputResponses");
    if (answers == params.end()) {
        return nullptr;
    }
    if (!answers->is_object()) {
        throw rpc::ProtocolError(rpc::invalid_params, "\"inputResponses\" must be an object");
    }
    const auto answer = answers->find(key);
    return answer == answers->end() || !answer->is_object() ? nullptr : &*answer;
}

const json* elicited(const json& params, const std::string& key, const std::string& name)
{
    const auto* const answer = answer_to(params, key);
    if (answer == nullptr || answer->value("action", json()) != "accept") {
        return nullptr;
    }
    const auto given = answer->find("content");
    if (given == answer->end() || !given->is_object() || !given->contains(name)) {
        return nullptr;
    }
    return &(*given)[name];
}

std::string sealed(const std::string& text)
{
    return text + '.' + seal_of(text);
}

std::string state_of(const json& params)
{
    const auto state = params.find("requestState");
    if (state == params.end()) {
        return {};
    }
    const auto text = state->is_string() ? state->get<std::string>() : std::string();
    const auto dot = text.rfind('.');
    const auto plain = text.substr(0, dot);
    const auto seal = dot == text.npos ? std::string() : text.substr(dot + 1);
    const auto expected = seal_of(plain);
    if (seal.size() != expected.size() ||
        ::CRYPTO_memcmp(seal.data(), expected.data(), seal.size()) != 0) {
        throw rpc::ProtocolError(rpc::invalid_params, "\"requestState\" is none of this server's");
    }
    return plain;
}

} // namespace berth::conformance
