#include "sandbox/base/error.hpp"
#include "server/mcp/service.hpp"
#include "tests/unit/server/recording_sink.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

// What is said again of a result that nobody reads.

using namespace berth;      // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::mcp; // NOLINT(google-build-using-namespace): the subject of the test
using nlohmann::json;

namespace {

using Notices = std::vector<std::string>;

const std::vector<tools::Entry>& one_tool()
{
    static const std::vector<tools::Entry> table{{.name = "bash_exec",
                                                  .title = "Title",
                                                  .input_schema = R"({"type":"object"})",
                                                  .output_schema = R"({"type":"object"})",
                                                  .annotations = {},
                                                  .bodies = "",
                                                  .describe = nullptr,
                                                  .run = nullptr}};
    return table;
}

/// Of a client whose connection breaks before it has read an answer.
class LosingSink final : public rpc::Sink {
  public:
    void send(std::string message) noexcept override { messages.push_back(json::parse(message)); }

    bool offer(std::string /*message*/) noexcept override { return true; }

    void when_read(std::function<void()> /*then*/, std::function<void()> lost) override
    {
        if (lost) {
            lost();
        }
    }

    std::vector<json> messages;
};

struct Bench {
    explicit Bench(decltype(Configuration::run) run)
    {
        Configuration configuration;
        auto settings = std::make_shared<tools::Settings>();
        configuration.settings = [settings] { return settings; };
        configuration.catalog = select_tools(one_tool(), {}, false);
        configuration.describe = [](const tools::Entry&) { return std::string(); };
        configuration.instructions = [] { return std::string(); };
        configuration.run = std::move(run);
        configuration.lasting = [] { return true; };
        configuration.begin = [](const tools::Entry&) { return [](const CallReport&) {}; };
        configuration.untold = configuration.unread = [this](tools::Told told) {
            const std::lock_guard lock(mutex);
            again = std::move(told.notices);
            unheard = std::move(told.unheard);
        };
        service = std::make_unique<Service>(std::move(configuration));
    }

    /// What is said again of a call that `sink` has the answer of.
    Notices said_again(const std::shared_ptr<rpc::Sink>& sink)
    {
        Connection connection(*service);
        rpc::Dispatcher dispatcher(connection, sink, pool, rpc::DispatcherLimits{});
        dispatcher.receive(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{)"
                           R"("name":"bash_exec","arguments":{"command":"echo one\necho two"}}})");
        CHECK(dispatcher.drain(Deadline::after(std::chrono::seconds(3))));
        const std::lock_guard lock(mutex);
        return std::exchange(again, {});
    }

    /// The same, of what nobody else has.
    Notices said_of_failure(const std::shared_ptr<rpc::Sink>& sink)
    {
        CHECK(said_again(sink).empty());
        const std::lock_guard lock(mutex);
        return std::exchange(unheard, {});
    }

    std::mutex mutex;
    Notices again;
    Notices unheard;
    rpc::WorkerPool pool{4};
    std::unique_ptr<Service> service;
};

} // namespace

TEST_CASE("of a call that ended with its machine it is said with another result, if nobody read it")
{
    const auto failing = [](ErrorCode code) {
        return [code](const auto&, const json&, const std::stop_token&, tools::Told&, const auto&,
                      const auto&) -> tools::Result {
            throw Error(code, "the sandbox has ended\nduring this call", "Look.");
        };
    };
    const auto lost = std::make_shared<LosingSink>();
    Bench bench(failing(ErrorCode::session_lost));
    CHECK(bench.said_of_failure(lost) ==
          Notices{"the result of a call of bash_exec (`echo one…`) reached nobody, since its "
                  "client went away: the sandbox has ended…"});
    CHECK(bench.said_of_failure(std::make_shared<test::RecordingSink>()).empty()); // it was read
    // Which nobody else has a use for; which its guest says of this command by itself.
    for (const auto code : {ErrorCode::not_found, ErrorCode::backend_error}) {
        Bench other(failing(code));
        CHECK(other.said_of_failure(lost).empty());
    }
}

TEST_CASE("what is said of one result alone is not said with another where nobody reads it")
{
    Bench bench([](const auto&, const json&, const std::stop_token&, tools::Told& told, const auto&,
                   const auto&) {
        told.notices.emplace_back("of the session");
        tools::Result result("text", json::object());
        result.notices.emplace_back("of this command");
        return result;
    });
    const auto sink = std::make_shared<LosingSink>();
    CHECK(bench.said_again(sink) == Notices{"of the session"});
    REQUIRE(sink->messages.size() == 1);
    CHECK(sink->messages[0]["result"]["_meta"]["berth/notice"] ==
          json{"of the session", "of this command"});
}
