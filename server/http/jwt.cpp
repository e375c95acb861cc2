#include "server/http/jwt.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/small_letters.hpp"
#include "server/options/session_name.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

namespace berth::server::http {
namespace {

using nlohmann::json;

/// A head has 16 KiB at most, and none of a token's parts needs to nest.
constexpr std::size_t longest_token = 12UL * 1024;
constexpr int deepest = 8;
/// Of clocks that differ.
constexpr double leeway_seconds = 30;

/// Why a token is not taken.
struct Refused {
    std::string why;
};

struct Parts {
    std::string_view head;
    std::string_view claims;
    std::string_view signature;
    std::string_view signed_text; ///< the first two, with the dot between them
};

std::optional<Parts> parts_of(std::string_view token) noexcept
{
    const auto first = token.find('.');
    const auto second = token.find('.', first == std::string_view::npos ? first : first + 1);
    if (token.size() > longest_token || first == 0 || second == std::string_view::npos ||
        second == first + 1 || second + 1 == token.size() ||
        token.find('.', second + 1) != std::string_view::npos) {
        return std::nullopt;
    }
    return Parts{.head = token.substr(0, first),
                 .claims = token.substr(first + 1, second - first - 1),
                 .signature = token.substr(second + 1),
                 .signed_text = token.substr(0, second)};
}

std::string decoded_part(std::string_view part)
{
    auto bytes = base64url_decoded(part);
    if (!bytes) {
        throw Refused{"a part of it is not base64url"};
    }
    return std::move(*bytes);
}

json object_in(std::string_view part)
{
    const auto text = decoded_part(part);
    bool too_deep = false;
    auto object = json::parse(
        text,
        [&](int depth, json::parse_event_t, json&) {
            too_deep = too_deep || depth > deepest;
            return !too_deep;
        },
        /*allow_exceptions=*/false);
    if (too_deep || !object.is_object()) {
        throw Refused{"a part of it is no JSON object"};
    }
    return object;
}

/// Seconds since 1970; nothing: it is not there.
std::optional<double> time_claim(const json& claims, const char* name)
{
    const auto found = claims.find(name);
    if (found == claims.end()) {
        return std::nullopt;
    }
    if (!found->is_number() || !std::isfinite(found->get<double>())) {
        throw Refused{std::string(name) + " is no time"};
    }
    return found->get<double>();
}

/// A token that brings its key, or says where one is, is not asked for it.
const JwtKey& key_for(const json& head, const std::vector<JwtKey>& keys)
{
    const auto algorithm = rpc::text_member(head, "alg");
    constexpr std::array<std::string_view, 3> types{"jwt", "at+jwt", "application/at+jwt"};
    const auto type = in_small_letters(rpc::text_member(head, "typ"));
    if (head.contains("crit")) {
        throw Refused{"it has critical extensions, and none is known"};
    }
    if (head.contains("typ") && std::ranges::find(types, type) == types.end()) {
        throw Refused{"it is no access token by its typ"};
    }
    const bool is_named = head.contains("kid");
    const auto id = rpc::text_member(head, "kid");
    const JwtKey* found = nullptr;
    for (const auto& key : keys) {
        if (key.algorithm() != algorithm || (is_named && (id.empty() || key.id() != id))) {
            continue;
        }
        if (found != nullptr) {
            throw Refused{"it names no key (kid), and several are of its algorithm"};
        }
        found = &key;
    }
    if (found == nullptr) {
        throw Refused{"no key of the set is of its kid and alg"};
    }
    return *found;
}

bool has_audience(const json& claims, const std::string& audience)
{
    const auto found = claims.find("aud");
    if (found == claims.end()) {
        return false;
    }
    return found->is_array() ? std::ranges::find(*found, json(audience)) != found->end()
                             : *found == json(audience);
}

void check_times(const json& claims, double now)
{
    const auto expires = time_claim(claims, "exp");
    if (!expires || now >= *expires + leeway_seconds) {
        throw Refused{expires ? "it has expired" : "it never expires"};
    }
    for (const auto* begins : {"nbf", "iat"}) {
        if (const auto time = time_claim(claims, begins); time && now < *time - leeway_seconds) {
            throw Refused{std::string("it is not valid yet (") + begins + ')'};
        }
    }
}

std::string principal_of(const json& claims, const JwtRules& rules, double now)
{
    if (rpc::text_member(claims, "iss") != rules.issuer) {
        throw Refused{"it is of another issuer"};
    }
    if (!has_audience(claims, rules.audience)) {
        throw Refused{"it is for another audience"};
    }
    check_times(claims, now);
    auto principal = rpc::text_member(claims, rules.principal);
    if (principal.empty() || !is_showable(principal)) {
        throw Refused{"it names nobody by " + rules.principal};
    }
    return principal;
}

} // namespace

std::vector<JwtKey> read_jwt_keys(std::string_view text)
{
    const auto set = json::parse(text, nullptr, /*allow_exceptions=*/false);
    const auto* const list = set.is_object() && set.contains("keys") && set.at("keys").is_array()
                                 ? &set.at("keys")
                                 : nullptr;
    if (list == nullptr) {
        throw Error(ErrorCode::invalid_argument, "there is no JSON Web Key Set",
                    "It is an object with \"keys\", as the issuer's jwks_uri serves it.");
    }
    std::vector<JwtKey> keys;
    for (const auto& each : *list) {
        auto key = JwtKey::from(each);
        if (!key) {
            continue;
        }
        if (!key->id().empty() && std::ranges::find(keys, key->id(), &JwtKey::id) != keys.end()) {
            throw Error(ErrorCode::invalid_argument, "two keys have one id (kid)",
                        "Leave one of them out.");
        }
        keys.push_back(std::move(*key));
    }
    return keys;
}

bool looks_like_jwt(std::string_view token) noexcept
{
    return parts_of(token).has_value();
}

JwtVerdict check_jwt(std::string_view token, const std::vector<JwtKey>& keys, const JwtRules& rules,
                     std::chrono::system_clock::time_point now)
{
    try {
        const auto parts = parts_of(token);
        if (!parts) {
            throw Refused{"it is no JWT"};
        }
        const auto& key = key_for(object_in(parts->head), keys);
        if (!key.has_signed(parts->signed_text, decoded_part(parts->signature))) {
            throw Refused{"its signature is wrong"};
        }
        const auto seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
        return {.principal = principal_of(object_in(parts->claims), rules, seconds), .why = {}};
    } catch (const Refused& refused) {
        return {.principal = {}, .why = refused.why};
    }
}

} // namespace berth::server::http
