#include "server/rpc/dispatcher.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/server/rpc/dispatcher_bench.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace berth::rpc; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using berth::test::error_code;
using berth::tests::becomes_true;
using nlohmann::json;
using Bench = berth::test::DispatcherBench;

namespace {

/// A message that was read already, as a transport with a way back for each has it.
Message message_of(const std::string& id, const std::string& method)
{
    json message{{"jsonrpc", "2.0"}, {"method", method}};
    if (!id.empty()) {
        message["id"] = json::parse(id);
    }
    return take_message(std::move(message));
}

/// One that has sent a message, and reads its answer by itself.
struct Asker {
    [[nodiscard]] Dispatcher::Source source(std::string scope = "", std::size_t bytes = 1) const
    {
        return {.sink = sink, .bytes = bytes, .scope = std::move(scope)};
    }

    std::shared_ptr<berth::test::RecordingSink> sink =
        std::make_shared<berth::test::RecordingSink>();
};

/// A peer that holds all it may.
struct FullSink final : Sink {
    void send(std::string /*message*/) noexcept override {}

    bool hold(std::size_t /*bytes*/) override
    {
        ++asked;
        return false;
    }

    std::atomic<int> asked = 0;
};

} // namespace

TEST_CASE("each message with a way back of its own is answered there")
{
    Bench bench;
    const Asker first;
    const Asker second;
    bench.dispatcher.receive(message_of("1", "wait"), first.source());
    bench.dispatcher.receive(message_of("2", "echo"), second.source());
    CHECK(second.sink->wait(1).at(0)["id"] == 2);
    while (bench.probe.requests < 2) {
        std::this_thread::sleep_for(1ms);
    }
    bench.dispatcher.stop();
    const auto both = first.sink->wait(2);
    REQUIRE(both.size() == 2);
    CHECK(both[0]["method"] == "late"); // what is said before goes the same way
    CHECK(both[1]["result"] == "stopped");
    CHECK(second.sink->take().size() == 1);
    CHECK(bench.sink->take().empty());
}

TEST_CASE("an id is taken within its scope, and free in any other")
{
    Bench bench;
    const Asker first;
    const Asker second;
    const Asker third;
    bench.dispatcher.receive(message_of("1", "wait"), first.source("a"));
    bench.dispatcher.receive(message_of("1", "wait"), second.source("b"));
    bench.dispatcher.receive(message_of("1", "echo"), third.source());
    CHECK(third.sink->wait(1).at(0).contains("result"));
    bench.dispatcher.receive(message_of("1", "echo"), third.source("a"));
    CHECK(error_code(third.sink->wait(2).at(1)) == invalid_request);
    bench.request("1", "echo"); // nor does it meet one of receive(text)
    CHECK(bench.sink->wait(1).at(0).contains("result"));
    CHECK(first.sink->take().empty());
    CHECK(second.sink->take().empty());
    bench.dispatcher.stop();
    CHECK(bench.dispatcher.drain(berth::Deadline::after(30s)));
    bench.dispatcher.receive(message_of("1", "echo"), third.source("a"));
    CHECK(third.sink->wait(3).at(2).contains("result"));
}

TEST_CASE("a cancellation is of one scope")
{
    Bench bench;
    const Asker first;
    const Asker second;
    bench.dispatcher.receive(message_of("1", "wait"), first.source("a"));
    bench.dispatcher.receive(message_of("1", "wait"), second.source("b"));
    while (bench.probe.requests < 2) {
        std::this_thread::sleep_for(1ms);
    }
    bench.dispatcher.cancel("1");
    bench.dispatcher.cancel("1", "c");
    bench.dispatcher.cancel("2", "a");
    bench.dispatcher.receive(
        take_message(json{{"jsonrpc", "2.0"}, {"method", "cancel"}, {"params", {{"id", 1}}}}),
        first.source("a")); // a notification has no scope: its sender's handler says which
    CHECK_FALSE(bench.dispatcher.drain(berth::Deadline::after(20ms)));
    bench.dispatcher.cancel("1", "a");
    CHECK_FALSE(bench.dispatcher.drain(berth::Deadline::after(20ms)));
    bench.dispatcher.stop();
    CHECK(bench.dispatcher.drain(berth::Deadline::after(30s)));
    CHECK(first.sink->take().empty());
    CHECK(second.sink->take().size() == 2); // its late notification and its answer
}

TEST_CASE("what nobody waits for any longer is let go, answered or not")
{
    Bench bench;
    std::weak_ptr<Sink> weak;
    for (const auto* method : {"echo", "drop", "throw", "refuse"}) {
        CAPTURE(method);
        auto asker = std::make_unique<Asker>();
        weak = asker->sink;
        bench.dispatcher.receive(message_of("1", method), asker->source("a"));
        CHECK(bench.dispatcher.drain(berth::Deadline::after(30s)));
        CHECK(asker->sink->take().size() == 1);
        asker.reset();
        CHECK(weak.expired());
    }
    auto asker = std::make_unique<Asker>();
    weak = asker->sink;
    bench.dispatcher.receive(message_of("", "n"), asker->source());
    CHECK(asker->sink->take().empty());
    asker.reset();
    CHECK(weak.expired());
}

TEST_CASE("the bytes of messages from all ways count together")
{
    Bench bench(8, 1000);
    const Asker first;
    const Asker second;
    bench.dispatcher.receive(message_of("1", "wait"), first.source("a", 900));
    bench.dispatcher.receive(message_of("1", "refusable"), second.source("b", 101));
    CHECK(second.sink->wait(1).at(0)["result"] == "busy");
    bench.dispatcher.receive(message_of("2", "echo"), second.source("b", 100));
    CHECK(second.sink->wait(2).at(1).contains("result"));
    bench.dispatcher.stop();
    CHECK(bench.dispatcher.drain(berth::Deadline::after(30s)));
    bench.dispatcher.receive(message_of("3", "echo"), second.source("b", 1000));
    CHECK(second.sink->wait(3).at(2).contains("result"));
}

TEST_CASE("a batch with a way back of its own is one array there, or is thrown out")
{
    Bench bench;
    const Asker asker;
    const auto batch = json::parse(R"([{"jsonrpc":"2.0","id":1,"method":"echo"},7,
        {"jsonrpc":"2.0","id":1,"method":"nobody"},{"jsonrpc":"2.0","method":"n"}])");
    bench.dispatcher.receive_batch(json(batch), asker.source("a"));
    const auto sent = asker.sink->wait(1);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].is_array());
    CHECK(sent[0].size() == 3);
    CHECK_THROWS_AS(bench.dispatcher.receive_batch(json::array(), asker.source()), ProtocolError);
    bench.probe.batches = false;
    CHECK_THROWS_AS(bench.dispatcher.receive_batch(json(batch), asker.source()), ProtocolError);
    CHECK(asker.sink->take().size() == 1);
    CHECK(bench.sink->take().empty());
}

TEST_CASE("what a call holds for its answer counts with the messages that are worked on")
{
    Bench bench(8, 1000);
    const Asker first;
    const Asker second;
    bench.dispatcher.receive(message_of("1", "holds"), first.source("a", 100)); // 800 more
    CHECK(becomes_true([&] { return bench.probe.held == 1; }));
    bench.dispatcher.receive(message_of("1", "holds"), second.source("b", 10));
    CHECK(second.sink->wait(1).at(0).contains("error"));
    bench.dispatcher.receive(message_of("2", "echo"), second.source("b", 10));
    CHECK(second.sink->wait(2).at(1).contains("result"));
    bench.dispatcher.stop();
    CHECK(bench.dispatcher.drain(berth::Deadline::after(30s)));
    bench.dispatcher.receive(message_of("3", "holds"), second.source("b", 10)); // given back
    CHECK(becomes_true([&] { return bench.probe.held == 2; }));
    bench.dispatcher.stop();
    CHECK(bench.dispatcher.drain(berth::Deadline::after(30s)));
}

TEST_CASE("a call waits for room that another one gives back, and is cancelled meanwhile")
{
    Bench bench(8, 1000);
    const Asker first;
    const Asker second;
    bench.dispatcher.receive(message_of("1", "holds"), first.source("a"));
    CHECK(becomes_true([&] { return bench.probe.held == 1; }));
    bench.dispatcher.receive(message_of("1", "waits"), second.source("b"));
    bench.dispatcher.receive(message_of("2", "waits"), second.source("b"));
    CHECK(becomes_true([&] { return bench.probe.requests == 3; }));
    CHECK(bench.probe.held == 1);
    bench.dispatcher.cancel("1", "b");
    bench.dispatcher.cancel("1", "a");
    CHECK(
        becomes_true([&] { return bench.probe.held >= 2; })); // the cancelled one may, for a moment
    bench.dispatcher.stop();
    CHECK(bench.dispatcher.drain(berth::Deadline::after(30s)));
    const auto sent = second.sink->wait(2); // what it notifies, and its answer
    REQUIRE(sent.size() == 2);
    CHECK(sent[1]["id"] == 2);
    CHECK(sent[1].contains("result"));
}

TEST_CASE("who waits for his own share takes none of the others' room")
{
    Bench bench(8, 1000);
    const Asker other;
    const auto full = std::make_shared<FullSink>();
    bench.dispatcher.receive(message_of("1", "waits"), {.sink = full, .bytes = 1, .scope = "a"});
    CHECK(becomes_true([&] { return full->asked > 1; }));
    bench.dispatcher.receive(message_of("1", "holds"), other.source("b"));
    CHECK(becomes_true([&] { return bench.probe.held == 1; }));
    bench.dispatcher.stop();
    CHECK(bench.dispatcher.drain(berth::Deadline::after(30s)));
}
