#include "server/mcp/http_rules.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

const nlohmann::json envelope = {
    {"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
    {"io.modelcontextprotocol/clientCapabilities", nlohmann::json::object()}};

rpc::Message request_of(const std::string& method, nlohmann::json params = nlohmann::json::object())
{
    return rpc::take_message(
        {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}});
}

rpc::Message modern_call(const std::string& tool = "bash_exec")
{
    return request_of("tools/call", {{"name", tool}, {"_meta", envelope}});
}

mcp::HttpFacts modern_facts()
{
    return {.version = "2026-07-28", .method = "tools/call", .name = "bash_exec"};
}

struct Refused {
    int status = 0;
    int code = 0;

    friend bool operator==(const Refused&, const Refused&) = default;
};

Refused refused(const rpc::Message& message, const mcp::HttpFacts& facts)
{
    try {
        (void)mcp::check_http_message(message, facts);
    } catch (const mcp::HttpRefusal& refusal) {
        return {refusal.status(), refusal.code()};
    }
    return {};
}

} // namespace

TEST_CASE("the body decides the era, and a header that belies it is refused")
{
    CHECK(mcp::check_http_message(modern_call(), modern_facts()) == mcp::Era::modern);
    CHECK(mcp::check_http_message(request_of("tools/list"), {}) == mcp::Era::legacy);
    CHECK(mcp::check_http_message(request_of("tools/list"), {.version = "2025-06-18"}) ==
          mcp::Era::legacy);
    CHECK(refused(request_of("tools/list"), {.version = "2026-07-28"}) == Refused{400, -32602});
    CHECK(refused(request_of("server/discover"), {}) == Refused{400, -32602});
    CHECK(refused(request_of("tools/list"), {.version = "1999-01-01"}) == Refused{400, -32022});
    CHECK(refused(request_of("initialize"), {.version = "2026-07-28"}) == Refused{400, -32020});
    CHECK(mcp::check_http_message(request_of("initialize"), {}) == mcp::Era::legacy);
}

TEST_CASE("a modern request says in its headers what its body says")
{
    auto facts = modern_facts();
    facts.version = "2025-11-25";
    CHECK(refused(modern_call(), facts) == Refused{400, -32020});
    facts = modern_facts();
    facts.version.reset();
    CHECK(refused(modern_call(), facts) == Refused{400, -32020});
    facts = modern_facts();
    facts.method = "tools/list";
    CHECK(refused(modern_call(), facts) == Refused{400, -32020});
    facts.method.reset();
    CHECK(refused(modern_call(), facts) == Refused{400, -32020});
    facts = modern_facts();
    facts.name.reset();
    CHECK(refused(modern_call(), facts) == Refused{400, -32020});
    facts.name = "Bash_exec"; // values are compared as they stand
    CHECK(refused(modern_call(), facts) == Refused{400, -32020});
    facts.name = "=?base64?YmFzaF9leGVj?=";
    CHECK(refused(modern_call(), facts) == Refused{});
    facts.name = "=?base64?YmFzaF9leGV?=";
    CHECK(refused(modern_call(), facts) == Refused{400, -32020});
}

TEST_CASE("of an envelope that is wrong the revision counts first, then the method")
{
    auto meta = envelope;
    meta["io.modelcontextprotocol/protocolVersion"] = "2099-01-01";
    const mcp::HttpFacts facts{.version = "2099-01-01", .method = "tools/list", .name = {}};
    CHECK(refused(request_of("tools/list", {{"_meta", meta}}), facts) == Refused{400, -32022});
    meta = envelope;
    meta.erase("io.modelcontextprotocol/clientCapabilities");
    CHECK(refused(request_of("tools/list", {{"_meta", meta}}), {}) == Refused{400, -32602});
    for (const char* const method : {"ping", "initialize", "logging/setLevel", "no/such"}) {
        CHECK(refused(request_of(method, {{"_meta", envelope}}),
                      {.version = "2026-07-28", .method = method, .name = {}}) ==
              Refused{404, -32601});
    }
}

TEST_CASE("a batch is of one old era")
{
    const auto old = nlohmann::json::parse(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}, 5])");
    CHECK_NOTHROW(mcp::check_http_batch(old, {.version = "2025-03-26"}));
    CHECK_THROWS_AS(mcp::check_http_batch(old, {.version = "2026-07-28"}), mcp::HttpRefusal);
    auto mixed = old;
    mixed.push_back({{"id", 2}, {"method", "tools/list"}, {"params", {{"_meta", envelope}}}});
    CHECK_THROWS_AS(mcp::check_http_batch(mixed, {}), mcp::HttpRefusal);
}

TEST_CASE("a header's value may be coded")
{
    CHECK(mcp::decode_header("plain") == "plain");
    CHECK(mcp::decode_header("=?base64?w6Q=?=") == "\xc3\xa4");
    CHECK(mcp::decode_header("=?base64?") == "=?base64?");
    CHECK(mcp::decode_header("=?base64?/w==?=") == std::nullopt); // no UTF-8
    CHECK(mcp::decode_header("=?base64?!?=") == std::nullopt);
}
