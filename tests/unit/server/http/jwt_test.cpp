#include "sandbox/base/error.hpp"
#include "server/http/jwt.hpp"
#include "tests/unit/server/http/jwt_bench.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using berth::tests::base64url;
using berth::tests::JwtIssuer;
using nlohmann::json;

namespace {

constexpr std::int64_t now = 1'800'000'000;
const JwtRules rules{.issuer = "https://login.example.com",
                     .audience = "https://berth.example.com/mcp",
                     .principal = "sub"};

/// Made once: RSA takes its time.
const JwtIssuer& issuer(const std::string& algorithm)
{
    static const std::map<std::string, JwtIssuer> all{{"RS256", JwtIssuer("RS256")},
                                                      {"ES256", JwtIssuer("ES256")},
                                                      {"EdDSA", JwtIssuer("EdDSA")}};
    return all.at(algorithm);
}

std::vector<JwtKey> keys_of(const std::vector<json>& list)
{
    return read_jwt_keys(json{{"keys", list}}.dump());
}

json good_claims()
{
    return {{"iss", rules.issuer}, {"aud", rules.audience}, {"sub", "alice"}, {"exp", now + 60}};
}

json changed(const char* name, const json& value)
{
    auto claims = good_claims();
    claims[name] = value;
    return claims;
}

json without(const char* name)
{
    auto claims = good_claims();
    claims.erase(name);
    return claims;
}

JwtVerdict check(const std::string& token, const std::vector<JwtKey>& keys)
{
    return check_jwt(token, keys, rules,
                     std::chrono::system_clock::time_point(std::chrono::seconds(now)));
}

/// Who calls by these claims, signed as they should be.
std::string who(const json& claims, const json& head = {{"alg", "ES256"}})
{
    return check(issuer("ES256").sign(head, claims), keys_of({issuer("ES256").public_key()}))
        .principal;
}

std::string refusal_of_set(const std::string& text)
{
    try {
        (void)read_jwt_keys(text);
        return {};
    } catch (const Error& error) {
        return error.what();
    }
}

} // namespace

TEST_CASE("a token of each algorithm is known by the key of its issuer, and by no other")
{
    for (const auto* algorithm : {"RS256", "ES256", "EdDSA"}) {
        CAPTURE(algorithm);
        const auto& own = issuer(algorithm);
        const auto token = own.sign({{"alg", algorithm}, {"typ", "at+jwt"}}, good_claims());
        const auto keys = keys_of({own.public_key()});
        CHECK(looks_like_jwt(token));
        CHECK(check(token, keys).principal == "alice");
        CHECK(check(JwtIssuer(algorithm).sign({{"alg", algorithm}}, good_claims()), keys).why ==
              "its signature is wrong");
        for (std::size_t i = 0; i + 1 < token.size(); i += 7) { // the last digit has unused bits
            auto wrong = token;
            wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
            CHECK(check(wrong, keys).principal.empty());
        }
    }
}

TEST_CASE(
    "a token cannot say how it is to be checked: none, HMAC with the public key, another kind")
{
    const auto& rsa = issuer("RS256");
    const auto keys = keys_of({rsa.public_key("a")});
    const auto claims = base64url(good_claims().dump());
    for (const auto* algorithm :
         {"none", "None", "HS256", "HS512", "RS384", "PS256", "ES256", ""}) {
        CAPTURE(algorithm);
        const auto token = base64url(json{{"alg", algorithm}, {"kid", "a"}}.dump()) + '.' + claims +
                           '.' + base64url("signature");
        CHECK(check(token, keys).why == "no key of the set is of its kid and alg");
    }
    CHECK(check(base64url(R"({"alg":"none"})") + '.' + claims + '.', keys).why == "it is no JWT");
    CHECK(check(rsa.sign({{"alg", {"RS256"}}}, good_claims()), keys).principal.empty());
    // It brings a key of its own, which is not asked.
    const JwtIssuer mallory("RS256");
    CHECK(check(mallory.sign({{"alg", "RS256"},
                              {"jwk", mallory.public_key()},
                              {"jku", "https://evil.example"}},
                             good_claims()),
                keys)
              .why == "its signature is wrong");
}

TEST_CASE("the key is the one that the token names, and without a name the only one of its kind")
{
    const JwtIssuer other("ES256");
    const auto& own = issuer("ES256");
    const auto two = keys_of({own.public_key("a"), other.public_key("b")});
    CHECK(check(own.sign({{"alg", "ES256"}, {"kid", "a"}}, good_claims()), two).principal ==
          "alice");
    CHECK(check(own.sign({{"alg", "ES256"}, {"kid", "b"}}, good_claims()), two).why ==
          "its signature is wrong");
    CHECK(check(own.sign({{"alg", "ES256"}, {"kid", "c"}}, good_claims()), two).why ==
          "no key of the set is of its kid and alg");
    CHECK(check(own.sign({{"alg", "ES256"}}, good_claims()), two).why ==
          "it names no key (kid), and several are of its algorithm");
    for (const json& id : {json(""), json(3), json()}) {
        CHECK(
            check(own.sign({{"alg", "ES256"}, {"kid", id}}, good_claims()), two).principal.empty());
    }
}

TEST_CASE("a token is believed for its issuer, its audience and its time alone")
{
    CHECK(who(good_claims()) == "alice");
    CHECK(who(changed("aud", {"x", rules.audience})) == "alice");
    CHECK(who(changed("iss", rules.issuer + "/")).empty());
    CHECK(who(changed("aud", "https://berth.example.com")).empty());
    CHECK(who(changed("aud", json::array())).empty());
    CHECK(who(changed("aud", {{"a", rules.audience}})).empty());
    for (const auto* name : {"iss", "aud", "sub", "exp"}) {
        CAPTURE(name);
        CHECK(who(without(name)).empty());
    }
    CHECK(who(changed("exp", now - 29)) == "alice"); // clocks differ
    CHECK(who(changed("exp", now - 30)).empty());
    CHECK(who(changed("exp", std::to_string(now + 60))).empty());
    CHECK(who(changed("exp", 1e300)) == "alice");
    CHECK(who(changed("nbf", now + 29)) == "alice");
    CHECK(who(changed("nbf", now + 31)).empty());
    CHECK(who(changed("iat", now + 31)).empty());
    CHECK(who(changed("nbf", "x")).empty());
    for (const json& name : {json(""), json("a\nb"), json(std::string(257, 'a')), json(3)}) {
        CHECK(who(changed("sub", name)).empty());
    }
}

TEST_CASE("what is no access token by its head is none")
{
    const auto of = [](json more) {
        more["alg"] = "ES256";
        return who(good_claims(), more);
    };
    CHECK(of({{"typ", "JWT"}}) == "alice");
    CHECK(of({{"typ", "application/at+jwt"}}) == "alice");
    CHECK(of({{"typ", "logout+jwt"}}).empty());
    CHECK(of({{"typ", 3}}).empty());
    CHECK(of({{"crit", {"exp"}}}).empty());
}

TEST_CASE("what only looks like a token is refused as what it is, however it is made")
{
    const auto keys = keys_of({issuer("ES256").public_key()});
    for (const auto* token : {"", ".", "..", "...", "a.b", "a..c", ".b.c", "a.b.", "a.b.c.d"}) {
        CAPTURE(token);
        CHECK_FALSE(looks_like_jwt(token));
        CHECK(check(token, keys).why == "it is no JWT");
    }
    CHECK(check(std::string(13'000, 'a') + ".b.c", keys).why == "it is no JWT");
    CHECK(check("a+b.c.d", keys).why == "a part of it is not base64url");
    CHECK(check("e30=.c.d", keys).why == "a part of it is not base64url");
    CHECK(check(base64url("[]") + ".c.d", keys).why == "a part of it is no JSON object");
    const auto deep = R"({"alg":"ES256","x":)" + std::string(5000, '[');
    CHECK(check(base64url(deep) + ".c.d", keys).why == "a part of it is no JSON object");
}

TEST_CASE("a set of keys has public keys that are strong enough, each by a name of its own")
{
    const auto& own = issuer("ES256");
    const auto set = [](const std::vector<json>& list) {
        return refusal_of_set(json{{"keys", list}}.dump());
    };
    CHECK(set({own.public_key("a")}).empty());
    CHECK(refusal_of_set("").find("no JSON Web Key Set") != std::string::npos);
    CHECK(refusal_of_set("{\"keys\":{}}").find("no JSON Web Key Set") != std::string::npos);
    CHECK(set({}).empty()); // a set all the same, by which nobody is known
    CHECK(read_jwt_keys(R"({"keys":[]})").empty());
    CHECK(set({own.public_key("a"), JwtIssuer("ES256").public_key("a")}).find("one id") !=
          std::string::npos);
    auto secret = own.public_key();
    secret["d"] = "AAAA";
    CHECK(set({secret}).find("private") != std::string::npos);
    CHECK(set({{{"kty", "oct"}, {"k", "AAAA"}}}).find("private") != std::string::npos);
    CHECK(set({JwtIssuer("RS256", 1024).public_key()}).find("2048") != std::string::npos);
    auto off = own.public_key();
    off["y"] = base64url(std::string(32, '\x01'));
    CHECK(set({off}).find("none of its kind") != std::string::npos);
    off["y"] = "AA";
    CHECK(set({off}).find("32 bytes") != std::string::npos);
    // Those for other things are passed over.
    auto other = own.public_key("b");
    other["use"] = "enc";
    auto foreign = own.public_key("c");
    foreign["alg"] = "ES384";
    auto signing = own.public_key("d");
    signing["key_ops"] = {"sign"};
    CHECK(keys_of({own.public_key("a"), other, foreign, signing, {{"kty", "new"}}}).size() == 1);
    CHECK(keys_of({other, foreign, signing}).empty());
}
