#include "sandbox/base/error.hpp"
#include "server/rpc/dispatcher.hpp"
#include "tests/unit/server/recording_sink.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

using namespace berth;      // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::rpc; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

/// Answers with what its peer said to a question, or with the code of what became of it.
class Asking final : public Handler {
  public:
    void request(const std::shared_ptr<Call>& call) override
    {
        try {
            call->reply(call->ask("how", R"({"are":"you"})", patience).dump());
        } catch (const Error& error) {
            call->reply('"' + std::string(to_string(error.code())) + '"');
        }
    }

    void notification(const Message& message, Dispatcher& dispatcher) override
    {
        dispatcher.cancel(id_from(message.params->at("id")));
    }

    bool accepts_batch(const json& /*messages*/) override { return false; }

    std::chrono::milliseconds patience = 3s;
};

/// A peer that does not read.
class Deaf final : public Sink {
  public:
    void send(std::string message) noexcept override { sent = json::parse(message); }

    bool offer(std::string /*message*/) noexcept override { return false; }

    json sent;
};

struct QuestionBench {
    /// The id under which the peer was asked.
    json asked()
    {
        dispatcher.receive(R"({"jsonrpc":"2.0","id":1,"method":"m"})");
        const auto said = sink->wait(1);
        REQUIRE(said.size() == 1);
        CHECK(said[0]["method"] == "how");
        CHECK(said[0]["params"] == json{{"are", "you"}});
        return said[0]["id"];
    }

    void answer(const json& id, const char* member, const json& value)
    {
        dispatcher.receive(json{{"jsonrpc", "2.0"}, {"id", id}, {member, value}}.dump());
    }

    json result()
    {
        const auto all = sink->wait(2);
        REQUIRE(all.size() == 2);
        CHECK(all[1]["id"] == 1);
        return all[1];
    }

    Asking handler;
    std::shared_ptr<test::RecordingSink> sink = std::make_shared<test::RecordingSink>();
    WorkerPool pool{8};
    Dispatcher dispatcher{handler, sink, pool, {}};
};

} // namespace

TEST_CASE_FIXTURE(QuestionBench, "a question waits for the response of its own id")
{
    const auto id = asked();
    answer("berth-99", "result", "another's");
    answer(nullptr, "result", "nobody's");
    answer(id, "result", {{"well", true}});
    answer(id, "result", "again");
    CHECK(result()["result"] == json{{"well", true}});
}

TEST_CASE_FIXTURE(QuestionBench, "a peer that refuses to answer fails the call with its words")
{
    answer(asked(), "error", {{"code", -1}, {"message", "not today"}});
    const auto error = result()["error"];
    CHECK(error["code"] == internal_error);
    CHECK(error["message"].get<std::string>().find("not today") != std::string::npos);
    CHECK(error["data"]["client"]["code"] == -1);
}

TEST_CASE_FIXTURE(QuestionBench, "a peer that does not answer is waited for so long")
{
    handler.patience = 20ms;
    const auto id = asked();
    CHECK(result()["result"] == "unsupported");
    answer(id, "result", "too late");
}

TEST_CASE_FIXTURE(QuestionBench, "a question ends with its call")
{
    handler.patience = 1min;
    (void)asked();
    const auto started = std::chrono::steady_clock::now();
    SUBCASE("that is cancelled")
    {
        dispatcher.receive(R"({"jsonrpc":"2.0","method":"cancel","params":{"id":1}})");
        CHECK(dispatcher.drain(Deadline::after(10s)));
        CHECK(sink->take().size() == 1); // and is not answered
    }
    SUBCASE("whose server stops")
    {
        dispatcher.stop();
        CHECK(result()["result"] == "cancelled");
    }
    CHECK(std::chrono::steady_clock::now() - started < 20s);
}

TEST_CASE("who does not read is not asked")
{
    Asking handler;
    handler.patience = 1min;
    const auto sink = std::make_shared<Deaf>();
    WorkerPool pool(8);
    Dispatcher dispatcher(handler, sink, pool, {});
    dispatcher.receive(R"({"jsonrpc":"2.0","id":1,"method":"m"})");
    CHECK(dispatcher.drain(Deadline::after(10s)));
    CHECK(sink->sent["result"] == "busy");
}
