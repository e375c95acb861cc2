#include "server/mcp/heartbeat.hpp"
#include "tests/unit/server/recording_sink.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

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
