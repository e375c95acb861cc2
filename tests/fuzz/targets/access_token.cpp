// A JWT that a stranger shows, and the set of keys that it is checked by.

#include "sandbox/base/error.hpp"
#include "server/http/jwt.hpp"
#include "tests/fuzz/target.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace {

/// Of an issuer that was made for it; the private part is gone.
constexpr std::string_view keys =
    R"({"keys": [{"kty": "EC", "kid": "e", "crv": "P-256", "x": "4AhKoow0S_QkdfnZ7AhMIhvYMKELYVcRxS4jRUj-ftg", "y": "QQXY619OXFZwCOgLhvBFxJQcYaH_m-hqqufQc6_O3HA"}, {"kty": "OKP", "kid": "d", "crv": "Ed25519", "x": "MCZcsS7Zq7Xt19EkUPcQWTjanbGtz_b2YjP6C_iKUk4"}]})";

/// The only one that he has signed: corpus/access_token/signed.
constexpr std::string_view token =
    "eyJhbGciOiAiRVMyNTYiLCAia2lkIjogImUiLCAidHlwIjogImF0K2p3dCJ9."
    "eyJpc3MiOiAiaHR0cHM6Ly9sb2dpbi5leGFtcGxlLmNvbSIsICJhdWQiOiAiaHR0cHM6Ly9iZXJ0aC5leGFtcGxlLmNvbS"
    "9tY3AiLCAiZXhwIjogMzI1MDM2ODAwMDAsICJzdWIiOiAiYm9iIn0."
    "unMnAag8WvTyKuWmYD0iGf8inCLMpK4Ybo5zw681_cvWWD1H0wgGycxOS9CXVyLas62jSx_js76NNw39YcCNYA";

} // namespace

BERTH_FUZZ_TARGET(access_token)
{
    using berth::fuzz::require;
    using namespace berth::server::http;
    static const auto known = read_jwt_keys(keys);
    const JwtRules rules{.issuer = "https://login.example.com",
                         .audience = "https://berth.example.com/mcp",
                         .principal = "sub"};
    const auto verdict = check_jwt(
        input, known, rules, std::chrono::system_clock::time_point(std::chrono::hours(500'000)));
    require(verdict.principal.empty() == (input != token),
            "what was signed is taken, and no other");
    require(verdict.principal.empty() == !verdict.why.empty(), "a refusal has a reason");
    require(verdict.principal.empty() || looks_like_jwt(input), "what is taken looks like it");
    try {
        (void)read_jwt_keys(input);
    } catch (const berth::Error& error) {
        require(error.code() == berth::ErrorCode::invalid_argument, "a set is wrong");
    }
}
