#include "server/mcp/repetition.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using berth::mcp::Repetition;

namespace {

/// One call after the other.
struct Bench {
    std::uint64_t fail(const std::string& call, const std::string& outcome = "error")
    {
        const auto began = next_turn();
        return repetition.failed(began, named(call), outcome);
    }

    std::uint64_t end(const std::string& call, const std::string& outcome = "exit 1")
    {
        const auto began = next_turn();
        return repetition.ended_alike(began, named(call), outcome);
    }

    void succeed(const std::string& call)
    {
        (void)next_turn();
        repetition.succeeded(call.substr(0, 1), named(call));
    }

    /// Of a sender who has seen the end of the call before.
    Repetition::Moment next_turn()
    {
        now += Repetition::reaction;
        return repetition.begin(now);
    }

    Repetition::Identity named(const std::string& call)
    {
        return [this, call] {
            ++asked;
            return call;
        };
    }

    Repetition::Clock::time_point now{};
    Repetition repetition{[this] { return now; }};
    int asked = 0;
};

} // namespace

TEST_CASE("the third failure in a row is noticed, and each one after it")
{
    Bench bench;
    CHECK(bench.fail("a") == 0);
    CHECK(bench.fail("a") == 0);
    CHECK(bench.fail("a") == 3);
    CHECK(bench.fail("a") == 4);
}

TEST_CASE("a success of the call, or another outcome, begins anew")
{
    Bench bench;
    for (int i = 0; i < 2; ++i) {
        CHECK(bench.fail("a") == 0);
        CHECK(bench.fail("a") == 0);
        bench.succeed("a");
    }
    CHECK(bench.fail("b", "one") == 0);
    CHECK(bench.fail("b", "one") == 0);
    CHECK(bench.fail("b", "two") == 0);
    CHECK(bench.fail("b", "one") == 0);
    CHECK(bench.fail("b", "one") == 0);
    CHECK(bench.fail("b", "one") == 3);
}

TEST_CASE("calls are counted for themselves, whatever comes between failures")
{
    Bench bench;
    for (int i = 0; i < 2; ++i) {
        CHECK(bench.fail("a") == 0);
        bench.succeed("read");
        CHECK(bench.fail("b") == 0);
    }
    CHECK(bench.fail("a") == 3);
    CHECK(bench.fail("b") == 3);
}

TEST_CASE("calls that were sent together are one try, but each is a failure")
{
    Bench bench;
    std::vector<Repetition::Moment> moments;
    for (int i = 0; i < 4; ++i) {
        moments.push_back(bench.repetition.begin(bench.now));
    }
    for (const auto began : moments) {
        CHECK(bench.repetition.failed(began, bench.named("a"), "error") == 0);
    }
    CHECK(bench.fail("a") == 0);
    CHECK(bench.fail("a") == 6);
}

TEST_CASE("calls that came sooner than a model answers are one try, one after the other or not")
{
    Bench bench;
    const auto sent = bench.now;
    for (int i = 0; i < 4; ++i) { // as one thread works through them
        bench.now += std::chrono::milliseconds(10);
        const auto late = bench.repetition.begin(sent + i * std::chrono::milliseconds(1));
        CHECK(bench.repetition.failed(late, bench.named("a"), "error") == 0);
        const auto command = bench.repetition.begin(sent);
        CHECK(bench.repetition.ended_alike(command, bench.named("make"), "exit 1") == 0);
    }
    CHECK(bench.fail("a") == 0);
    CHECK(bench.fail("a") == 6);
}

TEST_CASE("what is remembered is bounded, and the oldest goes first")
{
    Bench bench;
    CHECK(bench.fail("first") == 0);
    CHECK(bench.fail("first") == 0);
    for (std::size_t i = 1; i < Repetition::remembered; ++i) {
        CHECK(bench.fail(std::to_string(i)) == 0);
    }
    CHECK(bench.fail("first") == 3); // and is the latest now
    CHECK(bench.fail("one more") == 0);
    CHECK(bench.fail("first") == 4);
    CHECK(bench.fail("1") == 0); // had to go
    CHECK(bench.fail("1") == 0);
    CHECK(bench.fail("1") == 3);
}

TEST_CASE("as long as nothing fails nobody asks which call it was")
{
    Bench bench;
    bench.succeed("a");
    CHECK(bench.asked == 0);
    CHECK(bench.fail("a") == 0);
    bench.succeed("b");
    CHECK(bench.asked == 1);
    bench.succeed("a");
    CHECK(bench.asked == 2);
}

TEST_CASE("a command that ends alike is noticed only when nothing comes between")
{
    Bench bench;
    CHECK(bench.end("make") == 0);
    CHECK(bench.end("make") == 0);
    CHECK(bench.end("make") == 3);
    CHECK(bench.end("make") == 4);
    bench.succeed("edit");
    CHECK(bench.end("make") == 0);
    CHECK(bench.end("make") == 0);
    CHECK(bench.fail("read") == 0);
    CHECK(bench.end("make") == 0);
    CHECK(bench.end("make") == 0);
    CHECK(bench.end("make", "exit 2") == 0);
    CHECK(bench.end("make") == 0);
    CHECK(bench.end("make") == 0);
    CHECK(bench.end("test") == 0);
    CHECK(bench.end("make") == 0);
}

TEST_CASE("commands that were sent together do not make a row")
{
    Bench bench;
    std::vector<Repetition::Moment> moments;
    for (int i = 0; i < 3; ++i) {
        moments.push_back(bench.repetition.begin(bench.now));
    }
    for (const auto began : moments) {
        CHECK(bench.repetition.ended_alike(began, bench.named("make"), "exit 1") == 0);
    }
}

TEST_CASE("a command that could not be run and then can begins a row anew")
{
    Bench bench;
    CHECK(bench.fail("make") == 0);
    CHECK(bench.fail("make") == 0);
    CHECK(bench.end("make") == 0);
    CHECK(bench.fail("make") == 0);
}

TEST_CASE("from many threads every failure is counted once")
{
    Bench bench;
    constexpr int threads = 4;
    constexpr int calls = 200;
    std::atomic<int> noticed = 0;
    {
        std::vector<std::jthread> pool;
        pool.reserve(threads);
        for (int i = 0; i < threads; ++i) {
            pool.emplace_back([&] {
                for (int call = 0; call < calls; ++call) {
                    const auto began = bench.repetition.begin({});
                    noticed += bench.repetition.failed(
                                   began, [] { return std::string("a"); }, "error") == 0
                                   ? 0
                                   : 1;
                }
            });
        }
    }
    CHECK(noticed == 0); // one try
    CHECK(bench.fail("a") == 0);
    CHECK(bench.fail("a") == threads * calls + 2);
}

TEST_CASE("the arguments of a tool that has not failed are not looked at")
{
    Bench bench;
    (void)bench.fail("a 1");
    CHECK(bench.asked == 1);
    bench.succeed("b 1");
    CHECK(bench.asked == 1);
    bench.succeed("a 2");
    CHECK(bench.asked == 2);
}
