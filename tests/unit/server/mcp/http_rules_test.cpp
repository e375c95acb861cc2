#include "sandbox/base/base64.hpp"
#include "server/mcp/http_rules.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>

using namespace berth;      // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::mcp; // NOLINT(google-build-using-namespace): the subject of the test
using nlohmann::json;

namespace {

const std::string modern_text(modern_version);
constexpr const char* capabilities = "io.modelcontextprotocol/clientCapabilities";

json claim(const json& version = modern_text)
{
    return {{version_key, version}, {capabilities, json::object()}};
}

json http_request_of(const std::string& method, json params)
{
    return {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}};
}

json modern_call(const std::string& name = "read_file")
{
    return http_request_of("tools/call", {{"name", name}, {"_meta", claim()}});
}

/// "modern", "legacy", or "STATUS CODE" of a refusal.
std::string ruling(json message, const HttpFacts& facts)
{
    try {
        const auto era = check_http_message(rpc::take_message(std::move(message)), facts);
        return era == Era::modern ? "modern" : "legacy";
    } catch (const HttpRefusal& refusal) {
        return std::to_string(refusal.status()) + ' ' + std::to_string(refusal.code());
    }
}

std::string batch_ruling(const json& messages, const HttpFacts& facts)
{
    try {
        check_http_batch(messages, facts);
        return "legacy";
    } catch (const HttpRefusal& refusal) {
        return std::to_string(refusal.status()) + ' ' + std::to_string(refusal.code());
    }
}

std::string words_of(json message, const HttpFacts& facts)
{
    try {
        (void)check_http_message(rpc::take_message(std::move(message)), facts);
    } catch (const HttpRefusal& refusal) {
        return refusal.what();
    }
    return {};
}

HttpFacts facts_with(std::optional<std::string> version = modern_text,
                     std::optional<std::string> method = "tools/call",
                     std::optional<std::string> name = "read_file")
{
    return {.version = std::move(version), .method = std::move(method), .name = std::move(name)};
}

} // namespace

TEST_CASE("a modern request whose headers say what its body says is taken")
{
    CHECK(ruling(modern_call(), facts_with()) == "modern");
    CHECK(ruling(modern_call("caf\u00e9"),
                 facts_with(modern_text, "tools/call",
                            "=?base64?" + base64_encode("caf\u00e9") + "?=")) == "modern");
    CHECK(ruling(http_request_of("tools/list", {{"_meta", claim()}}),
                 facts_with(modern_text, "tools/list", std::nullopt)) == "modern");
    CHECK(ruling(http_request_of("server/discover", {{"_meta", claim()}}),
                 facts_with(modern_text, "server/discover", "anything")) == "modern");
}

TEST_CASE("a header that says something else than the body is a mismatch")
{
    CHECK(ruling(modern_call(), facts_with("2025-11-25")) == "400 -32020");
    CHECK(ruling(modern_call(), facts_with("")) == "400 -32020");
    CHECK(ruling(modern_call(), facts_with(modern_text, "tools/list")) == "400 -32020");
    CHECK(ruling(modern_call(), facts_with(modern_text, "Tools/call")) == "400 -32020");
    CHECK(ruling(modern_call(), facts_with(modern_text, "tools/call", "Read_file")) ==
          "400 -32020");
    CHECK(ruling(modern_call(), facts_with(modern_text, "tools/call", "=?base64?!!?=")) ==
          "400 -32020");
    CHECK(ruling(modern_call("caf\u00e9"), facts_with(modern_text, "tools/call", "caf\u00e9")) ==
          "400 -32020");
    CHECK(words_of(modern_call("bar"), facts_with(modern_text, "tools/call", "foo")) ==
          "Header mismatch: Mcp-Name header value 'foo' does not match body value 'bar'");
    CHECK(words_of(modern_call(), facts_with("2025-11-25")) ==
          "Header mismatch: MCP-Protocol-Version header value '2025-11-25' does not match body "
          "value '2026-07-28'");
    const auto long_words = words_of(modern_call(std::string(100'000, 'x')), facts_with());
    CHECK(long_words.size() < 1000);
}

TEST_CASE("a modern request needs its headers, and is told which is missing")
{
    CHECK(ruling(modern_call(), facts_with(std::nullopt)) == "400 -32020");
    CHECK(ruling(modern_call(), facts_with(modern_text, std::nullopt)) == "400 -32020");
    CHECK(ruling(modern_call(), facts_with(modern_text, "tools/call", std::nullopt)) ==
          "400 -32020");
    const auto all = words_of(modern_call(), {});
    CHECK(all == "Header mismatch: the header MCP-Protocol-Version is missing");
    CHECK(words_of(modern_call(), {.version = modern_text}) ==
          "Header mismatch: the header Mcp-Method is missing");
    CHECK(words_of(modern_call(), facts_with(modern_text, "tools/call", std::nullopt)) ==
          "Header mismatch: the header Mcp-Name is missing");
    // Without a name in its body there is nothing to repeat; that the name is missing says the
    // call.
    CHECK(ruling(http_request_of("tools/call", {{"_meta", claim()}}),
                 facts_with(modern_text, "tools/call", std::nullopt)) == "modern");
}

TEST_CASE("a version that is not spoken is told so where header and body agree")
{
    const auto request = http_request_of("tools/list", {{"_meta", claim("2099-01-01")}});
    CHECK(ruling(request, facts_with("2099-01-01", "tools/list")) == "400 -32022");
    CHECK(ruling(request, facts_with(std::nullopt, std::nullopt)) == "400 -32022");
    CHECK(ruling(request, facts_with(modern_text, "tools/list")) == "400 -32020");
    CHECK(ruling(request, facts_with("2099-01-01", "tools/call")) == "400 -32020");
    try {
        (void)check_http_message(rpc::take_message(json(request)), {});
    } catch (const HttpRefusal& refusal) {
        CHECK(json::parse(refusal.data()) ==
              json{{"supported", {modern_text}}, {"requested", "2099-01-01"}});
    }
}

TEST_CASE("a malformed claim is told before anything of the headers")
{
    auto meta = claim();
    meta.erase(capabilities);
    CHECK(ruling(http_request_of("tools/list", {{"_meta", meta}}),
                 facts_with(modern_text, "tools/list")) == "400 -32602");
    CHECK(ruling(http_request_of("tools/list", {{"_meta", meta}}),
                 facts_with("2025-11-25", "tools/call")) == "400 -32602");
    for (const auto& version : {json(7), json(nullptr), json::array()}) {
        CHECK(ruling(http_request_of("tools/list", {{"_meta", claim(version)}}), facts_with()) ==
              "400 -32602");
    }
}

TEST_CASE("what no modern revision has is not found there")
{
    for (const auto* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                               "resources/unsubscribe", "no/such"}) {
        CAPTURE(method);
        CHECK(ruling(http_request_of(method, {{"_meta", claim()}}),
                     facts_with(modern_text, method)) == "404 -32601");
        CHECK(ruling(http_request_of(method, {{"_meta", claim()}}), {}) == "404 -32601");
    }
}

TEST_CASE("without a claim a request is an older one, whatever headers are missing")
{
    const auto call = http_request_of("tools/call", {{"name", "x"}});
    CHECK(ruling(call, {}) == "legacy");
    for (const auto& version : legacy_versions) {
        CHECK(ruling(call, facts_with(std::string(version), "tools/list", "y")) == "legacy");
    }
    CHECK(ruling(http_request_of("ping", json::object()), {}) == "legacy");
    CHECK(ruling(http_request_of("no/such", {{"_meta", json::object()}}), {}) == "legacy");
    CHECK(ruling(call, facts_with("2099-01-01")) == "400 -32022");
    CHECK(ruling(call, facts_with("")) == "400 -32022");
}

TEST_CASE("a modern header without the claim of the body is told what is missing")
{
    const auto call = http_request_of("tools/call", {{"name", "read_file"}});
    CHECK(ruling(call, facts_with()) == "400 -32602");
    CHECK(words_of(call, facts_with()).find(version_key) != std::string::npos);
    CHECK(ruling(http_request_of("server/discover", json::object()), {}) == "400 -32602");
}

TEST_CASE("initialize with a claim that is none is still of the older revisions")
{
    const HttpFacts modern_header{.version = modern_text, .method = {}, .name = {}};
    for (const json& meta :
         {claim(5), claim("2099-01-01"), claim("2025-11-25"), json{{version_key, modern_text}},
          json{{version_key, modern_text}, {capabilities, 5}}}) {
        const auto begin = http_request_of("initialize", {{"_meta", meta}});
        CHECK(ruling(begin, {}) == "legacy");
        CHECK(ruling(begin, modern_header) == "400 -32020");
    }
    CHECK(ruling(http_request_of("initialize", {{"_meta", claim()}}), {}) == "404 -32601");
}

TEST_CASE("initialize is of the older revisions")
{
    const auto begin = http_request_of("initialize", {{"protocolVersion", "2025-06-18"}});
    CHECK(ruling(begin, {}) == "legacy");
    CHECK(ruling(begin, facts_with("2025-06-18")) == "legacy");
    CHECK(ruling(begin, facts_with("2099-01-01")) == "legacy"); // what is spoken it learns
    CHECK(ruling(begin, facts_with()) == "400 -32020");
}

TEST_CASE("of a notification the body decides, then the header")
{
    const json plain{{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}};
    json claims = plain;
    claims["params"] = {{"_meta", claim()}};
    CHECK(ruling(plain, {}) == "legacy");
    CHECK(ruling(plain, facts_with("2025-06-18")) == "legacy");
    CHECK(ruling(plain, facts_with()) == "modern");
    CHECK(ruling(claims, {}) == "modern");
    CHECK(ruling(claims, facts_with("2025-06-18")) == "modern");
}

TEST_CASE("an answer is an older client's, since no other is asked anything")
{
    const json said{{"jsonrpc", "2.0"}, {"id", 1}, {"result", json::object()}};
    CHECK(ruling(said, {}) == "legacy");
    CHECK(ruling(said, facts_with("2025-11-25")) == "legacy");
    CHECK(ruling(said, facts_with()) == "400 -32600");
}

TEST_CASE("a batch is one of older messages alone")
{
    const auto old = http_request_of("tools/list", json::object());
    const auto modern = http_request_of("tools/list", {{"_meta", claim()}});
    CHECK(batch_ruling(json::array({old, old}), {}) == "legacy");
    CHECK(batch_ruling(json::array({old, 7, "x"}), facts_with("2025-03-26")) == "legacy");
    CHECK(batch_ruling(json::array({old, modern}), {}) == "400 -32600");
    CHECK(batch_ruling(json::array({modern}), facts_with()) == "400 -32600");
    CHECK(batch_ruling(json::array({old}), facts_with()) == "400 -32600");
    CHECK(batch_ruling(json::array({old}), facts_with("2099-01-01")) == "400 -32022");
}

TEST_CASE("a header in base64 is its text, and any other what it is")
{
    CHECK(decode_header("plain") == "plain");
    CHECK(decode_header("") == "");
    CHECK(decode_header("=?base64?YWJj?=") == "abc");
    CHECK(decode_header("=?base64?"
                        "?=") == "");
    CHECK(decode_header("=?BASE64?YWJj?=") == "=?BASE64?YWJj?=");
    CHECK(decode_header("=?base64?YWJj") == "=?base64?YWJj");
    CHECK(decode_header("=?base64?=") == "=?base64?="); // begin and end are not the same bytes
    CHECK(decode_header("a\tb c~") == "a\tb c~");
    CHECK_FALSE(decode_header("caf\u00e9").has_value());
    CHECK_FALSE(decode_header("a\x7f").has_value());
    CHECK_FALSE(decode_header("=?base64?Y*Jj?=").has_value());
    CHECK_FALSE(decode_header("=?base64?/w==?=").has_value()); // no UTF-8
}
