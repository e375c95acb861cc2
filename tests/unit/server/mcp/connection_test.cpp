#include "sandbox/base/error.hpp"
#include "server/mcp/service.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/server/mcp/told_guest.hpp"
#include "tests/unit/server/recording_sink.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <thread>

using namespace berth;      // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::mcp; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const char* const envelope = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                             R"("io.modelcontextprotocol/clientCapabilities":{}})";

tools::Entry entry(std::string_view name, bool read_only)
{
    return {.name = name,
            .title = "Title",
            .input_schema = R"({"type":"object"})",
            .output_schema = R"({"type":"object","title":"out"})",
            .annotations = {.read_only = read_only},
            .bodies = "",
            .describe = nullptr,
            .run = nullptr};
}

const std::vector<tools::Entry>& fake_tools()
{
    static const std::vector<tools::Entry> table{entry("alpha", true), entry("beta", false)};
    return table;
}

std::atomic<int> running{0}; ///< calls that wait to be cancelled
const auto told_guest = std::make_shared<test::Words>();

tools::Result run_fake(const tools::Entry& tool, const json& arguments, const std::stop_token& stop,
                       tools::Told& told, const tools::Progress& progress,
                       const tools::Hold& /*hold*/)
{
    auto& notices = told.notices;
    if (arguments.contains("say") && progress) {
        progress(arguments["say"].get<std::string>());
    }
    if (arguments.contains("fail")) {
        notices.emplace_back("noticed");
        throw Error(ErrorCode::not_found, "no such file", "Look elsewhere.");
    }
    if (arguments.contains("notice")) {
        notices.emplace_back("noticed");
        told.receipts.push_back(std::make_shared<sandbox::Receipt>(test::receipt(told_guest)));
    }
    if (arguments.contains("exit")) {
        notices.emplace_back("noticed");
        tools::Result result("exit 1", json::object());
        result.unsuccessful = arguments["exit"].dump();
        return result;
    }
    running += arguments.contains("wait") ? 1 : 0;
    while (arguments.contains("wait") && !stop.stop_requested()) {
        std::this_thread::sleep_for(1ms);
    }
    tools::Result result(std::string(tool.name), json{{"arguments", arguments}});
    result.receipt = test::receipt(told_guest);
    return result;
}

/// From here on a call is one that its sender made after seeing the end of the one before.
void next_turn()
{
    std::this_thread::sleep_for(Repetition::reaction);
}

struct Bench {
    explicit Bench(const std::vector<std::string>& wanted = {}, bool read_only = false,
                   bool structured = false)
    {
        Configuration configuration;
        configuration.identity = {.version = "9", .structured_content = structured};
        auto settings = std::make_shared<tools::Settings>();
        settings->structured_content = structured;
        configuration.settings = [settings] { return settings; };
        configuration.catalog = select_tools(fake_tools(), wanted, read_only);
        configuration.describe = [this](const tools::Entry& tool) {
            return (lasting ? "describes " : "DISABLED ") + std::string(tool.name);
        };
        configuration.instructions = [] { return std::string(5000, 'i'); };
        configuration.run = run_fake;
        configuration.lasting = [this] { return lasting.load(); };
        configuration.untold = [this](tools::Told told) {
            const std::lock_guard lock(mutex);
            untold = std::move(told.notices);
            untold_receipts = told.receipts.size();
        };
        configuration.begin = [this](const tools::Entry&) {
            return [this](const CallReport& report) {
                const std::lock_guard lock(mutex);
                outcomes.emplace_back(report.outcome);
            };
        };
        configuration.progress_interval = 20ms;
        service = std::make_unique<Service>(std::move(configuration));
        connection = std::make_unique<Connection>(*service);
        dispatcher =
            std::make_unique<rpc::Dispatcher>(*connection, sink, pool, rpc::DispatcherLimits{});
    }

    json ask(const std::string& method, const std::string& members, bool modern)
    {
        sink->take();
        std::string params = members;
        if (modern) {
            params += (params.empty() ? "" : ",") + std::string(envelope);
        }
        dispatcher->receive(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" +
                            params + "}}");
        dispatcher->drain(Deadline::after(3s));
        const auto messages = sink->take();
        return messages.empty() ? json() : messages.back();
    }

    int code(const std::string& method, const std::string& members, bool modern)
    {
        const auto answer = ask(method, members, modern);
        return answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
    }

    std::mutex mutex;
    std::vector<std::string> outcomes;
    std::vector<std::string> untold;
    std::size_t untold_receipts = 0;
    std::atomic<bool> lasting = true;
    std::unique_ptr<Service> service;
    std::unique_ptr<Connection> connection;
    std::shared_ptr<test::RecordingSink> sink = std::make_shared<test::RecordingSink>();
    rpc::WorkerPool pool{64};
    std::unique_ptr<rpc::Dispatcher> dispatcher;
};

} // namespace

TEST_CASE("modern: discover tells versions, capabilities and who answers")
{
    Bench bench;
    const auto result = bench.ask("server/discover", "", true)["result"];
    CHECK(result["resultType"] == "complete");
    CHECK(result["supportedVersions"] == json::parse(R"(["2026-07-28"])"));
    CHECK(result["capabilities"] == json::parse(R"({"tools":{},"logging":{}})"));
    CHECK(result["instructions"].get<std::string>().size() == 4095);
    CHECK(result["ttlMs"].get<int>() >= 0);
    CHECK(result["cacheScope"] == "private");
    auto server = result["_meta"]["io.modelcontextprotocol/serverInfo"];
    CHECK(server["icons"].size() == 1);
    server.erase("icons");
    CHECK(server == json::parse(R"({"name":"berth","title":"berth","version":"9"})"));
}

TEST_CASE("modern: a malformed envelope is -32602, another version -32022 with what is spoken")
{
    Bench bench;
    const auto with_meta = [](const std::string& meta) { return "\"_meta\":{" + meta + "}"; };
    const std::string version = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")";
    const std::string capabilities = R"("io.modelcontextprotocol/clientCapabilities":{})";
    CHECK(bench.code("tools/list", with_meta(version), false) == -32602);
    CHECK(bench.code("tools/list", with_meta(R"("io.modelcontextprotocol/protocolVersion":7)"),
                     false) == -32602);
    CHECK(bench.code("tools/list",
                     with_meta(version + R"(,"io.modelcontextprotocol/clientCapabilities":[])"),
                     false) == -32602);
    CHECK(bench.code("tools/list",
                     with_meta(version + "," + capabilities +
                               R"(,"io.modelcontextprotocol/clientInfo":"x")"),
                     false) == -32602);
    CHECK(bench.code("server/discover", "", false) == -32602);
    CHECK(bench.code("server/discover", R"("_meta":7)", false) == -32602);
    const auto answer = bench.ask(
        "tools/list",
        with_meta(R"("io.modelcontextprotocol/protocolVersion":"2025-11-25",)" + capabilities),
        false);
    CHECK(answer["error"]["code"] == -32022);
    CHECK(answer["error"]["data"] ==
          json::parse(R"({"supported":["2026-07-28"],"requested":"2025-11-25"})"));
    // The version is judged first: what another asks of an envelope is not known here.
    const std::string other = R"("io.modelcontextprotocol/protocolVersion":"2027-01-01")";
    CHECK(bench.code("tools/list", with_meta(other), false) == -32022);
    CHECK(bench.code("tools/list",
                     with_meta(other + R"(,"io.modelcontextprotocol/clientCapabilities":[])"),
                     false) == -32022);
}

TEST_CASE("methods of the other era, and unknown ones, are not found")
{
    Bench bench;
    for (const auto* method : {"initialize", "ping", "logging/setLevel", "resources/list", "x"}) {
        CAPTURE(method);
        CHECK(bench.code(method, R"("protocolVersion":"2025-11-25")", true) == -32601);
    }
    for (const auto* method : {"resources/list", "prompts/list", "completion/complete", "x"}) {
        CHECK(bench.code(method, "", false) == -32601);
    }
}

TEST_CASE("legacy: initialize echoes a version that is spoken, else offers the newest")
{
    Bench bench;
    for (const auto* version : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
        const auto result = bench.ask(
            "initialize", R"("protocolVersion":")" + std::string(version) + "\"", false)["result"];
        CHECK(result["protocolVersion"] == version);
        CHECK(result["serverInfo"]["name"] == "berth");
        CHECK(result["capabilities"] == json::parse(R"({"tools":{},"logging":{}})"));
        CHECK(result["instructions"].is_string());
    }
    for (const auto* version : {"2026-07-28", "1999-01-01", ""}) {
        CHECK(bench.ask("initialize", R"("protocolVersion":")" + std::string(version) + "\"",
                        false)["result"]["protocolVersion"] == "2025-11-25");
    }
    CHECK(bench.code("initialize", "", false) == -32602);
    CHECK(bench.code("initialize", R"("protocolVersion":1)", false) == -32602);
    CHECK(bench.ask("ping", "", false)["result"] == json::object());
}

TEST_CASE("the list is sorted and says what clients need")
{
    Bench bench;
    const auto modern = bench.ask("tools/list", "", true)["result"];
    CHECK(modern["resultType"] == "complete");
    CHECK(modern["ttlMs"].is_number_integer());
    CHECK(modern["cacheScope"] == "private");
    const auto legacy = bench.ask("tools/list", R"("cursor":"")", false)["result"];
    CHECK_FALSE(legacy.contains("resultType"));
    CHECK_FALSE(legacy.contains("ttlMs"));
    CHECK(legacy["tools"] == modern["tools"]);
    REQUIRE(modern["tools"].size() == 2);
    const auto& tool = modern["tools"][0];
    CHECK(tool["name"] == "alpha");
    CHECK(tool["description"] == "describes alpha");
    CHECK(tool["inputSchema"] == json::parse(R"({"type":"object"})"));
    CHECK(tool["annotations"]["readOnlyHint"] == true);
    CHECK(modern["tools"][1]["annotations"]["readOnlyHint"] == false);
    CHECK(tool["_meta"]["anthropic/alwaysLoad"] == true);
    CHECK(tool["_meta"]["anthropic/maxResultSizeChars"].get<int>() >= 62'500);
    CHECK_FALSE(tool.contains("outputSchema"));
    CHECK(bench.code("tools/list", R"("cursor":"x")", true) == -32602);
    CHECK(bench.code("tools/list", R"("cursor":7)", false) == -32602);
    Bench structured({}, false, true);
    CHECK(structured.ask("tools/list", "", true)["result"]["tools"][0]["outputSchema"]["title"] ==
          "out");
}

TEST_CASE("a call runs the tool; errors in arguments are results, errors in the request are not")
{
    Bench bench;
    for (const bool modern : {true, false}) {
        auto answer = bench.ask("tools/call", R"("name":"beta","arguments":{"x":1})", modern);
        CHECK(answer["result"]["content"][0]["text"] == "beta");
        CHECK(answer["result"]["_meta"]["berth/result"]["arguments"]["x"] == 1);
        answer = bench.ask("tools/call", R"("name":"alpha")", modern);
        CHECK(answer["result"]["_meta"]["berth/result"]["arguments"] == json::object());
        answer = bench.ask("tools/call", R"("name":"alpha","arguments":null)", modern);
        CHECK(answer["result"]["_meta"]["berth/result"]["arguments"] == json::object());
        answer = bench.ask("tools/call", R"("name":"beta","arguments":{"fail":1})", modern);
        CHECK(answer["result"]["isError"] == true);
        CHECK(answer["result"]["_meta"]["berth/error"]["code"] == "not_found");
        CHECK(answer["result"]["_meta"]["berth/notice"][0] == "noticed");
        CHECK(bench.code("tools/call", R"("name":"gamma")", modern) == -32602);
        CHECK(bench.code("tools/call", R"("name":7)", modern) == -32602);
        CHECK(bench.code("tools/call", "", modern) == -32602);
        CHECK(bench.code("tools/call", R"("name":"beta","arguments":[])", modern) == -32602);
    }
    CHECK(bench.outcomes ==
          std::vector<std::string>{"ok", "ok", "ok", "not_found", "ok", "ok", "ok", "not_found"});
}

TEST_CASE("tools that the operator left out are not listed, and a call says why")
{
    Bench bench({}, true);
    CHECK(bench.ask("tools/list", "", true)["result"]["tools"].size() == 1);
    const auto answer = bench.ask("tools/call", R"("name":"beta")", true);
    CHECK(answer["error"]["code"] == -32602);
    CHECK(answer["error"]["message"].get<std::string>().find("--read-only") != std::string::npos);
    Bench subset({"beta"});
    CHECK(subset.ask("tools/list", "", true)["result"]["tools"][0]["name"] == "beta");
    CHECK_THROWS_WITH_AS((void)select_tools(fake_tools(), {"gamma"}, false),
                         "no tool is named \"gamma\"", Error);
    CHECK_THROWS_WITH_AS((void)select_tools(fake_tools(), {"gamma"}, false, "flag --tools"),
                         "no tool is named \"gamma\" (tools, flag --tools)", Error);
    CHECK_THROWS_WITH_AS((void)select_tools(fake_tools(), {"beta"}, true),
                         "no tool is left to serve: --read-only leaves out every tool of --tools",
                         Error);
}

TEST_CASE("a cancelled call is stopped and has no answer, in both eras")
{
    for (const bool modern : {true, false}) {
        Bench bench;
        const std::string meta = modern ? "," + std::string(envelope) : "";
        running = 0;
        bench.dispatcher->receive(
            R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"beta",)"
            R"("arguments":{"wait":1,"notice":1})" +
            meta + "}}");
        REQUIRE(tests::becomes_true([] { return running == 1; }));
        bench.dispatcher->receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                                  R"("params":{"requestId":"a","reason":"x"}})");
        CHECK(bench.dispatcher->drain(Deadline::after(3s)));
        CHECK(bench.sink->take().empty());
        CHECK(bench.untold == std::vector<std::string>{"noticed"});
        CHECK(bench.untold_receipts == 1);
    }
}

TEST_CASE("the guest hears whether the sender has the result of a command or never will")
{
    Bench bench;
    told_guest->clear();
    SUBCASE("answered")
    {
        (void)bench.ask("tools/call", R"("name":"beta")", true);
        CHECK(*told_guest == test::Words{protocol::FrameType::acknowledge});
    }
    SUBCASE("answered, with what it was lent to tell")
    {
        (void)bench.ask("tools/call", R"("name":"beta","arguments":{"notice":1})", true);
        CHECK(*told_guest ==
              test::Words{protocol::FrameType::acknowledge, protocol::FrameType::acknowledge});
    }
    SUBCASE("cancelled, though the tool did its work")
    {
        running = 0;
        bench.dispatcher->receive(
            R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"beta",)"
            R"("arguments":{"wait":1}}})");
        REQUIRE(tests::becomes_true([] { return running == 1; }));
        bench.dispatcher->receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                                  R"("params":{"requestId":"a"}})");
        CHECK(bench.dispatcher->drain(Deadline::after(3s)));
        CHECK(*told_guest == test::Words{protocol::FrameType::cancel});
    }
}

TEST_CASE("what may be mended any moment is told anew, and not for an hour")
{
    Bench bench;
    bench.lasting = false;
    auto list = bench.ask("tools/list", "", true)["result"];
    CHECK(list["tools"][0]["description"] == "DISABLED alpha");
    CHECK(list["ttlMs"].get<int>() <= 10'000);
    CHECK(bench.ask("server/discover", "", true)["result"]["ttlMs"].get<int>() <= 10'000);
    bench.lasting = true;
    list = bench.ask("tools/list", "", true)["result"];
    CHECK(list["tools"][0]["description"] == "describes alpha");
    CHECK(list["ttlMs"].get<int>() > 10'000);
    CHECK(list["ttlMs"].get<int>() <= 60'000); // the settings may change
    bench.lasting = false;
    CHECK(bench.ask("tools/list", "", true)["result"] == list);
}

TEST_CASE("progress is told only to a client that gave a token")
{
    Bench bench;
    const auto run = [&](const std::string& meta) {
        bench.dispatcher->receive(
            R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"beta",)"
            R"("arguments":{"wait":1},"_meta":{)" +
            meta + "}}}");
        const bool beat = bench.sink->wait(meta.empty() ? 0 : 1).size() == 1;
        std::this_thread::sleep_for(50ms);
        bench.dispatcher->stop();
        bench.dispatcher->drain(Deadline::after(3s));
        const auto sent = bench.sink->take();
        return beat || sent.size() > 1 ? sent.front() : json();
    };
    CHECK(run(R"("progressToken":7)")["params"]["progressToken"] == 7);
    CHECK(run("").is_null());
}

TEST_CASE("what a tool says of itself is told to a client that gave a token")
{
    Bench bench;
    bench.dispatcher->receive(
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"beta",)"
        R"("arguments":{"wait":1,"say":"half done"},"_meta":{"progressToken":7}}})");
    const auto told = bench.sink->wait(1);
    bench.dispatcher->stop();
    bench.dispatcher->drain(Deadline::after(3s));
    REQUIRE(!told.empty());
    CHECK(told[0]["params"]["message"].get<std::string>().starts_with("half done"));
    const auto quiet = bench.ask("tools/call", R"("name":"beta","arguments":{"say":"half done"})",
                                 /*modern=*/false);
    CHECK_FALSE(quiet["result"]["isError"].get<bool>());
}

TEST_CASE("batches belong to 2025-03-26 alone, without initialize and without modern members")
{
    Bench bench;
    const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    const auto batch = [&](const std::string& text) {
        bench.sink->take();
        bench.dispatcher->receive(text);
        bench.dispatcher->drain(Deadline::after(3s));
        return bench.sink->wait(1).at(0);
    };
    CHECK(batch("[" + ping + "]")["error"]["code"] == -32600);
    bench.ask("initialize", R"("protocolVersion":"2025-03-26")", false);
    CHECK(batch("[" + ping + "]").is_array());
    CHECK(batch("[" + ping + R"(,{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{)" +
                envelope + "}}]")["error"]["code"] == -32600);
    CHECK(batch(R"([{"jsonrpc":"2.0","id":2,"method":"initialize"}])")["error"]["code"] == -32600);
    bench.ask("initialize", R"("protocolVersion":"2025-11-25")", false);
    CHECK(batch("[" + ping + "]")["error"]["code"] == -32600);
}

TEST_CASE("the third failure of a call says so, to the client whose call it is")
{
    Bench bench;
    const std::string call = R"("name":"alpha","arguments":{"fail":1})";
    const auto repeated = [](const json& answer) {
        return answer["result"]["_meta"]["berth/error"].value("repeated", 0);
    };
    CHECK(repeated(bench.ask("tools/call", call, true)) == 0);
    next_turn();
    CHECK(repeated(bench.ask("tools/call", call, false)) == 0);
    Connection other(*bench.service);
    rpc::Dispatcher others(other, bench.sink, bench.pool, rpc::DispatcherLimits{});
    bench.sink->take();
    next_turn();
    others.receive(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{)" + call + "}}");
    CHECK(others.drain(Deadline::after(3s)));
    CHECK(repeated(bench.sink->take().at(0)) == 0);
    CHECK(repeated(bench.ask("tools/call", R"("name":"beta","arguments":{"fail":1})", true)) == 0);
    CHECK(repeated(bench.ask("tools/call", R"("name":"alpha","arguments":{"fail":2})", true)) == 0);
    next_turn();
    CHECK(repeated(bench.ask("tools/call", call, true)) == 3);
    CHECK(repeated(bench.ask("tools/call", call, true)) == 4); // sent too soon to be another try
}

TEST_CASE("a command that ends alike three times is noticed in that reply alone")
{
    Bench bench;
    const auto notices = [&](const std::string& call) {
        const auto answer = bench.ask("tools/call", R"("name":"beta","arguments":)" + call, true);
        CHECK(answer["result"]["isError"] == false);
        return answer["result"]["_meta"].value("berth/notice", json::array());
    };
    CHECK(notices(R"({"exit":1})").size() == 1);
    next_turn();
    CHECK(notices(R"({"exit":1})").size() == 1);
    next_turn();
    const auto third = notices(R"({"exit":1})");
    REQUIRE(third.size() == 2);
    CHECK(third[1].get<std::string>().find("3 times in a row") != std::string::npos);
    CHECK(notices("{}").empty());
    CHECK(notices(R"({"exit":1})").size() == 1);
}

TEST_CASE("arguments that are a string reach the tool, which says what is wrong with them")
{
    Bench bench;
    const auto answer = bench.ask("tools/call", R"("name":"alpha","arguments":"{\"a")", true);
    CHECK(answer["result"]["_meta"]["berth/result"]["arguments"] == "{\"a");
    CHECK(bench.code("tools/call", R"("name":"alpha","arguments":[])", true) == -32602);
}

TEST_CASE("a call that broke off is answered by its id, in the era of its client")
{
    Bench bench;
    const auto cut = [&](const std::string& text) {
        bench.sink->take();
        bench.dispatcher->receive(R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{)" +
                                  text);
        return bench.sink->take().at(0);
    };
    const auto modern = cut(R"("name":"alpha","arguments":{"fail":")");
    CHECK(modern["id"] == 5);
    CHECK(modern["result"]["resultType"] == "complete");
    CHECK(modern["result"]["_meta"]["berth/error"]["details"]["cut_off"]["arrived_as"] ==
          "message");
    CHECK(modern["result"]["content"][0]["text"].get<std::string>().find("goes in pieces") !=
          std::string::npos);
    (void)bench.ask("initialize", R"("protocolVersion":"2025-11-25")", false);
    CHECK_FALSE(cut(R"("name":"alpha","arguments":{"fail":")")["result"].contains("resultType"));
    CHECK(bench.outcomes.empty()); // nothing was run
}
