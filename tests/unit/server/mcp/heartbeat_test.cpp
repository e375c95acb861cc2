#include "server/mcp/heartbeat.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/server/recording_sink.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <string>
#include <thread>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;

namespace {

std::shared_ptr<rpc::Call> make_call(const std::shared_ptr<rpc::Sink>& sink)
{
    rpc::Message message;
    message.kind = rpc::Kind::request;
    message.id = "1";
    return std::make_shared<rpc::Call>(std::move(message), sink, sink, [] {});
}

/// Of a client that reads when it is told to.
class SlowSink final : public rpc::Sink {
  public:
    void send(std::string message) noexcept override { sink.send(std::move(message)); }

    bool offer(std::string message) noexcept override
    {
        ++offered;
        return reads && sink.offer(std::move(message));
    }

    std::atomic<bool> reads = false;
    std::atomic<int> offered = 0;
    test::RecordingSink sink;
};

std::string message_of(const nlohmann::json& notification)
{
    return notification["params"]["message"].get<std::string>();
}

} // namespace

TEST_CASE("progress rises, carries the token as it came, and ends with the call")
{
    const auto sink = std::make_shared<test::RecordingSink>();
    mcp::Heartbeat heartbeat(110ms);
    const auto call = make_call(sink);
    auto beat = heartbeat.watch(call, R"("tok")", "bash_exec");
    const auto beats = sink->wait(3);
    REQUIRE(beats.size() >= 3);
    double last = 0;
    for (const auto& message : beats) {
        CHECK(message["method"] == "notifications/progress");
        CHECK(message["params"]["progressToken"] == "tok");
        CHECK(message["params"]["progress"].get<double>() > last);
        last = message["params"]["progress"].get<double>();
    }
    call->reply("{}");
    sink->take();
    std::this_thread::sleep_for(250ms);
    CHECK(sink->take().empty());
    beat.reset();
    std::this_thread::sleep_for(150ms);
    CHECK(sink->take().empty());
}

TEST_CASE("short calls between long ones leave nothing behind")
{
    const auto sink = std::make_shared<test::RecordingSink>();
    mcp::Heartbeat heartbeat(100ms);
    const auto slow = make_call(sink);
    const auto beat = heartbeat.watch(slow, "1", "slow");
    for (int i = 0; i < 1000; ++i) {
        const auto fast = make_call(std::make_shared<test::RecordingSink>());
        const auto other = heartbeat.watch(fast, "2", "fast");
    }
    const auto beats = sink->wait(2);
    REQUIRE(beats.size() >= 2);
    CHECK(beats[0]["params"]["progressToken"] == 1);
    slow->cancel();
}

TEST_CASE("what a call says is told soon, the newest only, and again with the time")
{
    const auto sink = std::make_shared<test::RecordingSink>();
    mcp::Heartbeat heartbeat(800ms, 200ms);
    const auto call = make_call(sink);
    const auto began = std::chrono::steady_clock::now(); // before it is: from then on it is told
    const auto beat = heartbeat.watch(call, "1", "bash_exec");
    const auto other =
        heartbeat.watch(make_call(std::make_shared<test::RecordingSink>()), "2", "x");
    for (int i = 0; i < 1000; ++i) {
        beat->say("line " + std::to_string(i));
    }
    const auto first = sink->wait(1);
    REQUIRE(first.size() == 1);
    CHECK(std::chrono::steady_clock::now() - began >= 200ms);
    CHECK(message_of(first[0]) == "line 999");
    beat->say("a \"quoted\" line\nand another");
    const auto both = sink->wait(2);
    REQUIRE(both.size() == 2);
    CHECK(std::chrono::steady_clock::now() - began >= 400ms);
    CHECK(message_of(both[1]) == "a \"quoted\" line\nand another");
    const auto all = sink->wait(3);
    REQUIRE(all.size() == 3);
    CHECK(
        message_of(all[2]).starts_with("a \"quoted\" line\nand another\n[bash_exec has run for "));
    double last = 0;
    for (const auto& message : all) {
        CHECK(message["params"]["progress"].get<double>() > last);
        last = message["params"]["progress"].get<double>();
    }
}

TEST_CASE("progress rises however fast it is told")
{
    const auto sink = std::make_shared<test::RecordingSink>();
    mcp::Heartbeat heartbeat(800ms, 1ms);
    const auto call = make_call(sink);
    const auto beat = heartbeat.watch(call, "1", "bash_exec");
    for (std::size_t i = 1; i <= 20; ++i) {
        beat->say(std::to_string(i));
        REQUIRE(sink->wait(i).size() == i);
    }
    const auto all = sink->take();
    for (std::size_t i = 1; i < all.size(); ++i) {
        CHECK(all[i]["params"]["progress"].get<double>() >
              all[i - 1]["params"]["progress"].get<double>());
    }
}

TEST_CASE("a client that does not read is told the newest once it does")
{
    const auto slow = std::make_shared<SlowSink>();
    mcp::Heartbeat heartbeat(10s, 20ms);
    const auto call = make_call(slow);
    const auto beat = heartbeat.watch(call, "1", "bash_exec");
    const auto reading = std::make_shared<test::RecordingSink>();
    const auto another = make_call(reading);
    const auto its = heartbeat.watch(another, "2", "bash_exec");
    beat->say("old");
    REQUIRE(tests::becomes_true([&] { return slow->offered >= 3; }));
    beat->say("new");
    its->say("meanwhile");
    CHECK(reading->wait(1).size() == 1); // nobody waits for the slow one
    slow->reads = true;
    const auto told = slow->sink.wait(1);
    REQUIRE(told.size() == 1);
    CHECK(message_of(told[0]) == "new");
    call->cancel();
    beat->say("after the cancel");
    std::this_thread::sleep_for(100ms);
    CHECK(slow->sink.take().size() == 1);
}

TEST_CASE("no notification waits for an answer that is being written")
{
    class Stuck final : public rpc::Sink {
      public:
        void send(std::string) noexcept override
        {
            sending = true;
            while (!release) {
                std::this_thread::sleep_for(1ms);
            }
        }

        std::atomic<bool> sending = false;
        std::atomic<bool> release = false;
    };

    const auto sink = std::make_shared<Stuck>();
    const auto call = make_call(sink);
    std::jthread answering([&] { call->reply("{}"); });
    REQUIRE(tests::becomes_true([&] { return sink->sending.load(); }));
    CHECK_FALSE(call->notify("notifications/progress", "{}"));
    sink->release = true;
}
