#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "server/http/callers.hpp"
#include "server/http/resource_metadata.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/server/http/jwt_bench.hpp"
#include "tests/unit/server/options/options_bench.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/stat.h>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using berth::tests::JwtIssuer;
using nlohmann::json;

namespace {

struct IssuerBench {
    IssuerBench()
    {
        options.http.jwt = {.issuer = "https://login.example.com",
                            .audience = "https://berth.example.com/mcp",
                            .keys = directory / "keys.json",
                            .principal = "sub"};
        write({issuer.public_key()});
    }

    void write(const std::vector<json>& keys, mode_t mode = 0600) const
    {
        std::ofstream(options.http.jwt.keys) << json{{"keys", keys}}.dump();
        REQUIRE(::chmod(options.http.jwt.keys.c_str(), mode) == 0);
    }

    [[nodiscard]] Callers make()
    {
        return {options, [](const Caller&) {}, [](const std::string&) {},
                [this](const std::string& error) { told.push_back(error); }};
    }

    std::shared_ptr<const Caller> of(Callers& callers, const std::string& token)
    {
        transport::HttpHead head;
        head.fields.emplace_back("authorization", "Bearer " + token);
        return callers.identify(head, remote);
    }

    static std::string token(const JwtIssuer& by, const std::string& name)
    {
        return by.sign({{"alg", "EdDSA"}}, {{"iss", "https://login.example.com"},
                                            {"aud", "https://berth.example.com/mcp"},
                                            {"sub", name},
                                            {"exp", 32'503'680'000}});
    }

    berth::tests::TemporaryDirectory directory;
    JwtIssuer issuer{"EdDSA"};
    server::Options options = server::tests::Bench().make();
    transport::HttpSocket remote{UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    std::vector<std::string> told;
};

} // namespace

TEST_CASE("who shows a token of the issuer's is whom it names, with one account for all its tokens")
{
    IssuerBench bench;
    auto callers = bench.make();
    const auto alice = bench.of(callers, IssuerBench::token(bench.issuer, "alice"));
    REQUIRE(alice);
    CHECK(alice->principal == "alice");
    CHECK(alice->settings.empty());
    CHECK(bench.of(callers, IssuerBench::token(bench.issuer, "alice"))->account == alice->account);
    CHECK(bench.of(callers, IssuerBench::token(bench.issuer, "bob"))->account != alice->account);
    CHECK_FALSE(bench.of(callers, IssuerBench::token(JwtIssuer("EdDSA"), "alice")));
    CHECK_FALSE(bench.of(callers, "a.b.c"));
    CHECK_FALSE(bench.of(callers, "none"));
    CHECK(callers.has_token(IssuerBench::token(bench.issuer, "alice")));
}

TEST_CASE("beside an issuer a token file goes on to hold")
{
    IssuerBench bench;
    bench.options.http.token_file = bench.directory / "tokens.toml";
    std::ofstream(bench.options.http.token_file)
        << "[tokens.a]\nprincipal = \"carol\"\nsha256 = \"" << sha256_hex("secret") << "\"\n";
    REQUIRE(::chmod(bench.options.http.token_file.c_str(), 0600) == 0);
    auto callers = bench.make();
    CHECK(bench.of(callers, "secret")->principal == "carol");
    CHECK(bench.of(callers, IssuerBench::token(bench.issuer, "alice"))->principal == "alice");
}

TEST_CASE("the keys change while the server runs, and wrong ones change nothing")
{
    IssuerBench bench;
    auto callers = bench.make();
    const JwtIssuer next("EdDSA");
    const auto token = IssuerBench::token(next, "alice");
    CHECK_FALSE(bench.of(callers, token));
    bench.write({next.public_key()});
    CHECK(berth::tests::becomes_true([&] { return bench.of(callers, token) != nullptr; }));
    CHECK_FALSE(bench.of(callers, IssuerBench::token(bench.issuer, "alice")));
    bench.write({json{{"kty", "oct"}, {"k", "AAAA"}}});
    CHECK(berth::tests::becomes_true([&] {
        (void)bench.of(callers, token);
        return !bench.told.empty() && !bench.told.back().empty();
    }));
    CHECK(bench.of(callers, token));
    bench.write({}); // the last one is taken away
    CHECK(berth::tests::becomes_true([&] { return bench.of(callers, token) == nullptr; }));
}

TEST_CASE("without keys that only their owner can change no server starts")
{
    IssuerBench bench;
    bench.write({bench.issuer.public_key()}, 0620);
    CHECK_THROWS_WITH_AS((void)bench.make(), doctest::Contains("others than its owner"), Error);
    bench.write({}, 0600);
    CHECK_THROWS_WITH_AS((void)bench.make(), doctest::Contains("no key"), Error);
    bench.options.http.jwt.keys = bench.directory / "none";
    CHECK_THROWS_WITH_AS((void)bench.make(), doctest::Contains("cannot be read"), Error);
}

TEST_CASE("who has no token is told where there are some")
{
    server::JwtOptions options{.issuer = "https://login.example.com",
                               .audience = "https://berth.example.com/mcp",
                               .keys = "/k",
                               .principal = "sub"};
    const ResourceMetadata metadata(options);
    const std::string path = "/.well-known/oauth-protected-resource";
    CHECK(metadata.serves(path));
    CHECK(metadata.serves(path + "/mcp"));
    CHECK_FALSE(metadata.serves(path + "/other"));
    CHECK_FALSE(metadata.serves(path + "x"));
    const auto document = json::parse(metadata.document());
    CHECK(document["resource"] == options.audience);
    CHECK(document["authorization_servers"] == json({"https://login.example.com"}));
    const std::string where =
        ", "
        "resource_metadata=\"https://berth.example.com/.well-known/oauth-protected-resource/mcp\"";
    CHECK(metadata.challenge(false) == "Bearer realm=\"berth\"" + where);
    CHECK(metadata.challenge(true) == "Bearer realm=\"berth\", error=\"invalid_token\"" + where);
    options.audience = "berth"; // no address that anybody could ask
    CHECK_FALSE(ResourceMetadata(options).serves(path));
    CHECK(ResourceMetadata(options).challenge(false) == "Bearer realm=\"berth\"");
    options.audience = "https://a.example/x\"y";
    CHECK_FALSE(ResourceMetadata(options).serves(path));
    CHECK_FALSE(ResourceMetadata(server::JwtOptions()).serves(path));
    CHECK(ResourceMetadata(server::JwtOptions()).challenge(true) == "Bearer realm=\"berth\"");
}
