#include "server/mcp/header_arguments.hpp"
#include "server/mcp/http_rules.hpp"
#include "server/mcp/service.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>

using namespace berth;      // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::mcp; // NOLINT(google-build-using-namespace): the subject of the test
using nlohmann::json;

namespace {

const json schema = json::parse(R"({"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "deep":{"type":"object","properties":{"Count":{"type":"integer","x-mcp-header":"Count"}}},
    "list":{"type":"array","items":{"properties":{"x":{"x-mcp-header":"Never"}}}},
    "plain":{"type":"string"}}})");

std::unique_ptr<Service> make_service()
{
    Configuration configuration;
    configuration.protocol_tools.push_back(
        {.name = "routed",
         .definition = json{{"name", "routed"}, {"inputSchema", schema}}.dump(),
         .call = [](const RequestContext&, const json&) { return Outcome(json::object()); },
         .needs = {"sampling"}});
    return std::make_unique<Service>(std::move(configuration));
}

using Params = std::vector<std::pair<std::string, std::string>>;

/// "ok", or "STATUS CODE" of a refusal.
std::string ruling_of_call(const json& arguments, const Params& headers,
                           const json& capabilities = {{"sampling", json::object()}},
                           const std::string& method = "tools/call")
{
    const json meta{{version_key, modern_version}, {capabilities_key, capabilities}};
    auto message = rpc::take_message(
        {{"jsonrpc", "2.0"},
         {"id", 1},
         {"method", method},
         {"params", {{"name", "routed"}, {"arguments", arguments}, {"_meta", meta}}}});
    try {
        HttpFacts facts;
        facts.params = headers;
        check_http_service(*make_service(), message, facts);
        return "ok";
    } catch (const HttpRefusal& refusal) {
        return std::to_string(refusal.status()) + ' ' + std::to_string(refusal.code());
    }
}

} // namespace

TEST_CASE("arguments that headers repeat are found by their properties alone")
{
    const auto found = header_arguments_of(schema);
    REQUIRE(found.size() == 2);
    CHECK(found[0].path == std::vector<std::string>{"deep", "Count"});
    CHECK(found[0].name == "count");
    CHECK(found[1].path == std::vector<std::string>{"region"});
    CHECK(header_arguments_of(json::array()).empty());
    CHECK(header_arguments_of({{"properties", 7}}).empty());
}

TEST_CASE("a header says what its argument says, or is missing with it")
{
    CHECK(ruling_of_call({{"region", "eu"}}, {{"region", "eu"}}) == "ok");
    CHECK(ruling_of_call({{"region", "eu"}}, {{"region", "=?base64?ZXU=?="}}) == "ok");
    CHECK(ruling_of_call({{"region", "eu"}}, {{"region", "=?base64?ZXU?="}}) == "400 -32020");
    CHECK(ruling_of_call({{"region", "eu"}}, {{"region", "us"}}) == "400 -32020");
    CHECK(ruling_of_call({{"region", "eu"}}, {{"region", "eu"}, {"region", "us"}}) == "400 -32020");
    CHECK(ruling_of_call({{"region", "eu"}}, {}) == "400 -32020");
    CHECK(ruling_of_call(json::object(), {{"region", "eu"}}) == "400 -32020");
    CHECK(ruling_of_call({{"region", nullptr}}, {}) == "ok");
    CHECK(ruling_of_call({{"deep", {{"Count", 7}}}}, {{"count", "7"}}) == "ok");
    CHECK(ruling_of_call({{"deep", {{"Count", 7}}}}, {{"count", "07"}}) == "400 -32020");
    CHECK(ruling_of_call({{"deep", {{"Count", 7}}}}, {{"count", "7.0"}}) == "ok");
    CHECK(ruling_of_call({{"deep", {{"Count", 7.0}}}}, {{"count", "7"}}) == "ok");
    CHECK(ruling_of_call({{"deep", {{"Count", 7}}}}, {{"count", "7.01"}}) == "400 -32020");
    CHECK(ruling_of_call({{"deep", {{"Count", 7}}}}, {{"count", "7."}}) == "400 -32020");
    CHECK(ruling_of_call({{"region", "7"}}, {{"region", "7.0"}}) == "400 -32020");
    CHECK(ruling_of_call({{"region", "caf\u00e9"}}, {{"region", "caf\u00e9"}}) == "400 -32020");
    CHECK(ruling_of_call({{"deep", 1}}, {}) == "ok");
    CHECK(ruling_of_call({{"plain", "x"}}, {{"plain", "y"}}) == "ok"); // none that is declared
}

TEST_CASE("a tool that needs what the client cannot is refused with 400, one that is not with 404")
{
    CHECK(ruling_of_call(json::object(), {}, json::object()) == "400 -32021");
    CHECK(ruling_of_call(json::object(), {}, json::object(), "resources/list") == "404 -32601");
}
