#include "sandbox/base/base64.hpp"
#include "sandbox/base/error.hpp"
#include "server/mcp/service.hpp"
#include "tests/unit/server/recording_sink.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

using namespace berth;      // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::mcp; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

class Shelf final : public Resources {
  public:
    ResourcePage list(const std::string& from, const std::stop_token& /*stop*/) override
    {
        if (from.empty()) {
            return {.resources = {{.uri = "x://one", .name = "one\xff", .size = 3}}, .next = "two"};
        }
        if (from == "broken") {
            throw Error(ErrorCode::backend_error, "the shelf is broken");
        }
        if (from != "two") {
            throw Error(ErrorCode::invalid_argument, "no page begins there");
        }
        return {
            .resources = {{.uri = "x://two", .name = "two", .modified = "2026-01-01T00:00:00Z"}}};
    }

    std::vector<ResourceTemplate> templates() override
    {
        return {{.uri = "x://{id}", .name = "any", .mime_type = "text/plain"}};
    }

    ResourceContent read(const std::string& uri, const std::stop_token& /*stop*/,
                         const Hold& hold) override
    {
        hold(1);
        if (uri == "x://cancelled") {
            at_read();
        }
        if (uri == "x://text" || uri == "x://cancelled") {
            return {.mime_type = "text/plain", .bytes = "a \"text\"", .is_text = true};
        }
        if (uri == "x://bytes") {
            return {.mime_type = {}, .bytes = std::string("\xff\0", 2)};
        }
        throw Error(uri == "x://large" ? ErrorCode::too_large
                    : uri == "x://bad" ? ErrorCode::backend_error
                                       : ErrorCode::not_found,
                    "cannot read " + uri, "Look elsewhere.");
    }

    std::optional<Completion> complete(const std::string& uri_template, const std::string& argument,
                                       const std::string& value) override
    {
        if (uri_template != "x://{id}" || argument != "id") {
            return std::nullopt;
        }
        return Completion{std::vector<std::string>(value == "many" ? 250 : 2, value + "\xff")};
    }

    std::function<void()> at_read;
};

Prompt greeting()
{
    return {.name = "greet",
            .title = "Greeting",
            .description = "Greets.",
            .arguments = {{"who", "whom", true}, {"how", "in which way"}},
            .get =
                [](const RequestContext& context, const json& arguments) {
                    if (arguments["who"] == "?") {
                        return Outcome(json{{"inputRequests", json::object()}}, true);
                    }
                    context.log(LogLevel::info, "prompts", "greeting");
                    return Outcome(json{{"messages", json::array({arguments["who"]})}});
                },
            .complete = [](const std::string&,
                           const std::string& value) { return Completion{{value + "!"}}; }};
}

ProtocolTool talking_tool()
{
    return {.name = "talk",
            .definition = R"({"name":"talk","inputSchema":{"type":"object"}})",
            .call =
                [](const RequestContext& context, const json& arguments) {
                    context.log(LogLevel::debug, "x", "little");
                    context.log(LogLevel::error, "x", std::string(5000, '\n'));
                    context.progress(1, 2);
                    if (arguments.contains("ask")) {
                        return Outcome(json{{"said", context.ask("ping", json::object())}});
                    }
                    return Outcome(json{{"content", json::array()}});
                },
            .needs = {"sampling"}};
}

struct OffersBench {
    explicit OffersBench(bool everything = true)
    {
        Configuration configuration;
        configuration.identity = {.version = "9"};
        configuration.settings = [] { return std::make_shared<const tools::Settings>(); };
        configuration.instructions = [] { return "words"; };
        configuration.begin = [](const tools::Entry&) { return [](const CallReport&) {}; };
        if (everything) {
            configuration.resources = shelf;
            configuration.begin_read = [this] {
                return [this](const ReadReport& report) { outcomes.emplace_back(report.outcome); };
            };
            configuration.prompts.push_back(greeting());
            configuration.protocol_tools.push_back(talking_tool());
            configuration.subscribe = [this](const std::string& uri, bool wanted) {
                wanted ? void(subscribed.insert(uri)) : void(subscribed.erase(uri));
            };
        }
        service = std::make_unique<Service>(std::move(configuration));
        connection = std::make_unique<Connection>(*service);
        dispatcher =
            std::make_unique<rpc::Dispatcher>(*connection, sink, pool, rpc::DispatcherLimits{});
    }

    json old(const std::string& method, const json& params = json::object())
    {
        said = json::array();
        dispatcher->receive(
            json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}}.dump());
        dispatcher->drain(Deadline::after(3s));
        auto messages = sink->take();
        REQUIRE_FALSE(messages.empty());
        auto answer = std::move(messages.back());
        messages.pop_back();
        said = messages;
        return answer.contains("result") ? answer["result"] : answer["error"];
    }

    json modern(const std::string& method, json params = json::object(),
                const json& capabilities = {{"sampling", json::object()}})
    {
        params["_meta"][version_key] = modern_version;
        params["_meta"][capabilities_key] = capabilities;
        return old(method, params);
    }

    std::shared_ptr<Shelf> shelf = std::make_shared<Shelf>();
    std::vector<std::string> outcomes; ///< of what was read
    std::set<std::string> subscribed;
    json said; ///< before the last answer
    std::unique_ptr<Service> service;
    std::unique_ptr<Connection> connection;
    std::shared_ptr<test::RecordingSink> sink = std::make_shared<test::RecordingSink>();
    rpc::WorkerPool pool{8};
    std::unique_ptr<rpc::Dispatcher> dispatcher;
};

} // namespace

TEST_CASE("capabilities tell of what there is, and of nothing else")
{
    OffersBench all;
    const json both{{"tools", json::object()},
                    {"logging", json::object()},
                    {"resources", json::object()},
                    {"prompts", json::object()},
                    {"completions", json::object()}};
    CHECK(all.modern("server/discover")["capabilities"] == both);
    auto before = both;
    before["resources"]["subscribe"] = true;
    CHECK(all.old("initialize", {{"protocolVersion", "2025-11-25"}})["capabilities"] == before);
    OffersBench none(false);
    CHECK(none.modern("server/discover")["capabilities"] ==
          json{{"tools", json::object()}, {"logging", json::object()}});
    for (const auto* method : {"resources/list", "resources/read", "prompts/list", "prompts/get",
                               "completion/complete", "resources/subscribe"}) {
        CAPTURE(method);
        CHECK(none.old(method)["code"] == rpc::method_not_found);
        CHECK(none.modern(method)["code"] == rpc::method_not_found);
    }
}

TEST_CASE_FIXTURE(OffersBench, "resources are listed by page, and other cursors are none")
{
    const auto first = old("resources/list");
    CHECK(first["resources"] ==
          json::array({{{"uri", "x://one"}, {"name", "one\uFFFD"}, {"size", 3}}}));
    CHECK_FALSE(first.contains("ttlMs"));
    const auto second = modern("resources/list", {{"cursor", first["nextCursor"]}});
    CHECK(second["resources"][0]["annotations"]["lastModified"] == "2026-01-01T00:00:00Z");
    CHECK_FALSE(second.contains("nextCursor"));
    CHECK(second["resultType"] == "complete");
    CHECK(second["ttlMs"] == 0);
    CHECK(second["cacheScope"] == "private");
    CHECK(old("resources/list", {{"cursor", ""}}) == first);
    const auto broken = old("resources/list", {{"cursor", base64_encode("broken")}});
    CHECK(broken["code"] == rpc::internal_error);
    CHECK(broken["data"]["code"] == "backend_error");
    for (const json& cursor : {json("two"), json(base64_encode("three")), json(7), json()}) {
        CAPTURE(cursor);
        CHECK(old("resources/list", {{"cursor", cursor}})["code"] == rpc::invalid_params);
    }
}

TEST_CASE_FIXTURE(OffersBench, "templates are one page")
{
    const auto listed = modern("resources/templates/list");
    CHECK(
        listed["resourceTemplates"] ==
        json::array({{{"uriTemplate", "x://{id}"}, {"name", "any"}, {"mimeType", "text/plain"}}}));
    CHECK(listed["ttlMs"] > 0);
    CHECK(old("resources/templates/list", {{"cursor", "x"}})["code"] == rpc::invalid_params);
}

TEST_CASE_FIXTURE(OffersBench, "a resource is text or base64")
{
    CHECK(modern("resources/read", {{"uri", "x://text"}})["contents"] ==
          json::array({{{"uri", "x://text"}, {"mimeType", "text/plain"}, {"text", "a \"text\""}}}));
    CHECK(old("resources/read", {{"uri", "x://bytes"}})["contents"] ==
          json::array({{{"uri", "x://bytes"}, {"blob", "/wA="}}}));
}

TEST_CASE_FIXTURE(OffersBench, "how a read has ended is told, also of one that nobody got")
{
    (void)old("resources/read", {{"uri", "x://text"}});
    (void)old("resources/read", {{"uri", "x://none"}});
    shelf->at_read = [this] {
        dispatcher->receive(
            R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
    };
    dispatcher->receive(
        R"({"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"x://cancelled"}})");
    dispatcher->drain(Deadline::after(3s));
    CHECK(sink->take().empty());
    CHECK(outcomes == std::vector<std::string>{"ok", "not_found", "cancelled"});
}

TEST_CASE_FIXTURE(OffersBench, "each era has its code for a resource that there is not")
{
    const json missing{{"uri", "x://none"}};
    const json data{{"uri", "x://none"}, {"code", "not_found"}, {"hint", "Look elsewhere."}};
    CHECK(old("resources/read", missing)["code"] == -32002);
    CHECK(old("resources/read", missing)["data"] == data);
    CHECK(modern("resources/read", missing)["code"] == rpc::invalid_params);
    CHECK(modern("resources/read", missing)["data"] == data);
    CHECK(old("resources/read", {{"uri", "x://large"}})["code"] == rpc::invalid_params);
    CHECK(old("resources/read", {{"uri", "x://bad"}})["code"] == rpc::internal_error);
    CHECK(old("resources/read", {{"uri", 7}})["code"] == rpc::invalid_params);
    CHECK(old("resources/read")["code"] == rpc::invalid_params);
}

TEST_CASE_FIXTURE(OffersBench, "prompts are listed and made, and their arguments are strings")
{
    const auto listed = modern("prompts/list")["prompts"];
    REQUIRE(listed.size() == 1);
    CHECK(listed[0]["arguments"][0] ==
          json{{"name", "who"}, {"description", "whom"}, {"required", true}});
    const json asked{{"name", "greet"}, {"arguments", {{"who", "you"}}}};
    CHECK(old("prompts/get", asked)["messages"] == json::array({"you"}));
    CHECK(modern("prompts/get", asked)["resultType"] == "complete");
    const json unclear{{"name", "greet"}, {"arguments", {{"who", "?"}}}};
    CHECK(modern("prompts/get", unclear)["resultType"] == "input_required");
    CHECK(old("prompts/get", unclear)["code"] == rpc::invalid_params);
    for (const json& wrong : {json{{"name", "other"}}, json{{"name", "greet"}}, json::object(),
                              json{{"name", "greet"}, {"arguments", {{"who", 1}}}},
                              json{{"name", "greet"}, {"arguments", json::array()}}}) {
        CAPTURE(wrong);
        CHECK(old("prompts/get", wrong)["code"] == rpc::invalid_params);
    }
}

TEST_CASE_FIXTURE(OffersBench, "arguments are completed, a hundred at most")
{
    const auto ask = [&](const json& ref, const std::string& argument, const std::string& value) {
        return modern("completion/complete",
                      {{"ref", ref}, {"argument", {{"name", argument}, {"value", value}}}});
    };
    const json of_prompt{{"type", "ref/prompt"}, {"name", "greet"}};
    const json of_resource{{"type", "ref/resource"}, {"uri", "x://{id}"}};
    CHECK(ask(of_prompt, "who", "a")["completion"] ==
          json{{"values", {"a!"}}, {"total", 1}, {"hasMore", false}});
    CHECK(ask(of_resource, "id", "b")["completion"]["values"] == json{"b\uFFFD", "b\uFFFD"});
    const auto many = ask(of_resource, "id", "many")["completion"];
    CHECK(many["values"].size() == 100);
    CHECK(many["hasMore"] == true);
    CHECK(ask(of_prompt, "when", "")["code"] == rpc::invalid_params);
    CHECK(ask(of_resource, "other", "")["code"] == rpc::invalid_params);
    CHECK(ask({{"type", "ref/prompt"}, {"name", "none"}}, "who", "")["code"] ==
          rpc::invalid_params);
    CHECK(ask({{"type", "ref/tool"}, {"name", "x"}}, "who", "")["code"] == rpc::invalid_params);
    CHECK(modern("completion/complete", {{"ref", 1}})["code"] == rpc::invalid_params);
}

TEST_CASE_FIXTURE(OffersBench, "messages are sent from the level on that was asked for")
{
    const json call{{"name", "talk"}};
    auto at = [](const json& base, const char* level) {
        auto params = base;
        params["_meta"]["io.modelcontextprotocol/logLevel"] = level;
        return params;
    };
    CHECK(modern("tools/call", call).contains("content"));
    CHECK(said.empty());
    (void)modern("tools/call", at(call, "debug"));
    CHECK(said.size() == 2);
    (void)modern("tools/call", at(call, "warning"));
    REQUIRE(said.size() == 1);
    CHECK(said[0]["method"] == "notifications/message");
    CHECK(said[0]["params"]["level"] == "error");
    CHECK(said[0]["params"]["logger"] == "x");
    CHECK(said[0]["params"]["data"].get<std::string>().size() == 600);
    CHECK(modern("tools/call", at(call, "loud"))["code"] == rpc::invalid_params);

    CHECK(modern("logging/setLevel", {{"level", "debug"}})["code"] == rpc::method_not_found);
    (void)old("initialize", {{"protocolVersion", "2025-11-25"},
                             {"capabilities", {{"sampling", json::object()}}}});
    (void)old("tools/call", call);
    CHECK(said.empty());
    CHECK(old("logging/setLevel", {{"level", "emergency"}}) == json::object());
    (void)old("tools/call", call);
    CHECK(said.empty());
    CHECK(old("logging/setLevel", {{"level", "debug"}}) == json::object());
    (void)old("tools/call", call);
    CHECK(said.size() == 2);
    CHECK(old("logging/setLevel", {{"level", "loud"}})["code"] == rpc::invalid_params);
    CHECK(old("logging/setLevel")["code"] == rpc::invalid_params);
}

TEST_CASE_FIXTURE(OffersBench, "a tool that speaks the protocol tells progress to who has a token")
{
    (void)modern("tools/call", {{"name", "talk"}, {"_meta", {{"progressToken", "t"}}}});
    REQUIRE(said.size() == 1);
    CHECK(said[0]["params"] == json{{"progressToken", "t"}, {"progress", 1.0}, {"total", 2.0}});
}

TEST_CASE_FIXTURE(OffersBench,
                  "a tool is for clients that can what it needs, and asks none that cannot be")
{
    const auto refused = modern("tools/call", {{"name", "talk"}}, json::object());
    CHECK(refused["code"] == missing_client_capability);
    CHECK(refused["data"]["requiredCapabilities"] == json{{"sampling", json::object()}});
    CHECK(old("tools/call", {{"name", "talk"}})["isError"] == true); // never said what it can
    for (const json& arguments : {json(1), json::array(), json("x"), json()}) {
        CHECK(modern("tools/call", {{"name", "talk"}, {"arguments", arguments}})["code"] ==
              rpc::invalid_params);
    }
    const json asking{{"name", "talk"}, {"arguments", {{"ask", 1}}}};
    CHECK(modern("tools/call", asking)["isError"] == true);
    CHECK(old("tools/list")["tools"] ==
          json::array({{{"name", "talk"}, {"inputSchema", {{"type", "object"}}}}}));
}

TEST_CASE("of an older client's capabilities what a server can use is kept, and no more")
{
    const json said{
        {"capabilities",
         {{"sampling", {{"much", std::string(1000, 'x')}}}, {"other", 1}, {"roots", {}}}}};
    CHECK(*kept_capabilities(said) ==
          json{{"sampling", json::object()}, {"roots", json::object()}});
    CHECK(*kept_capabilities({{"capabilities", 7}}) == json::object());
}

TEST_CASE_FIXTURE(OffersBench, "subscriptions are of the older revisions")
{
    CHECK(old("resources/subscribe", {{"uri", "x://one"}}) == json::object());
    CHECK(subscribed == std::set<std::string>{"x://one"});
    CHECK(old("resources/unsubscribe", {{"uri", "x://one"}}) == json::object());
    CHECK(subscribed.empty());
    CHECK(old("resources/subscribe")["code"] == rpc::invalid_params);
    CHECK(modern("resources/subscribe", {{"uri", "x://one"}})["code"] == rpc::method_not_found);
}

TEST_CASE_FIXTURE(OffersBench, "no subscription begins whose first message was not said")
{
    const json wanted{{"notifications", json::object()}};
    CHECK(modern("subscriptions/listen", wanted)["resultType"] == "complete");
    CHECK(said.size() == 1);
    sink->is_deaf = true;
    CHECK(modern("subscriptions/listen", wanted)["code"] == rpc::internal_error);
}
