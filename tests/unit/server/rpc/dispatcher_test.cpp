#include "server/rpc/dispatcher.hpp"
#include "tests/unit/server/rpc/dispatcher_bench.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>

#include <pthread.h>

using namespace berth::rpc; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using berth::test::error_code;
using nlohmann::json;
using Bench = berth::test::DispatcherBench;

TEST_CASE("every request has one answer, whatever its handler does")
{
    Bench bench;
    for (const auto* method : {"twice", "drop", "throw", "refuse", "echo"}) {
        bench.request(nlohmann::json(method).dump(), method);
    }
    CHECK(bench.dispatcher.drain(berth::Deadline::after(3s)));
    const auto answers = bench.sink->wait(5);
    REQUIRE(answers.size() == 5);
    for (const auto& answer : answers) {
        const auto id = answer["id"].get<std::string>();
        CAPTURE(id);
        const int expected = id == "drop" || id == "throw" ? internal_error
                             : id == "refuse"              ? -32001
                                                           : 0;
        CHECK(error_code(answer) == expected);
    }
}

TEST_CASE("a slow call does not hold a fast one")
{
    Bench bench;
    bench.request("1", "wait");
    bench.request("2", "echo");
    const auto first = bench.sink->wait(1);
    REQUIRE(first.size() == 1);
    CHECK(first[0]["id"] == 2);
    while (bench.probe.requests < 2) { // a handler that has not begun is never asked
        std::this_thread::sleep_for(1ms);
    }
    bench.dispatcher.stop();
    const auto both = bench.sink->wait(3);
    REQUIRE(both.size() == 3); // its late notification, then its answer
    CHECK(both[2]["result"] == "stopped");
}

TEST_CASE("after a cancellation nothing is sent for the request")
{
    Bench bench;
    bench.request("\"1\"", "wait");
    bench.dispatcher.receive(R"({"jsonrpc":"2.0","method":"cancel","params":{"id":1}})");
    bench.dispatcher.receive(R"({"jsonrpc":"2.0","method":"cancel","params":{"id":[]}})");
    bench.dispatcher.receive(R"({"jsonrpc":"2.0","method":"cancel","params":{}})");
    CHECK_FALSE(bench.dispatcher.drain(berth::Deadline::after(50ms))); // 1 is not "1"
    bench.dispatcher.receive(R"({"jsonrpc":"2.0","method":"cancel","params":{"id":"1"}})");
    CHECK(bench.dispatcher.drain(berth::Deadline::after(3s)));
    CHECK(bench.sink->take().empty());
}

TEST_CASE("an id in flight cannot be used again; a finished one can")
{
    Bench bench;
    bench.request("1", "wait");
    bench.request("1", "echo");
    auto answers = bench.sink->wait(1);
    REQUIRE(answers.size() == 1);
    CHECK(error_code(answers[0]) == invalid_request);
    bench.sink->take();
    bench.request("2", "echo");
    bench.sink->wait(1);
    bench.request("2", "echo");
    answers = bench.sink->wait(2);
    REQUIRE(answers.size() == 2);
    CHECK(error_code(answers[1]) == 0);
    bench.dispatcher.stop();
}

TEST_CASE("requests beyond the limit are told that it is busy")
{
    Bench bench(2);
    bench.request("1", "wait");
    bench.request("2", "wait");
    bench.request("3", "echo");
    const auto answers = bench.sink->wait(1);
    REQUIRE(answers.size() == 1);
    CHECK(answers[0]["id"] == 3);
    CHECK(answers[0]["error"]["message"].get<std::string>().find("busy") == 0);
    bench.dispatcher.stop();
    bench.dispatcher.drain(berth::Deadline::after(3s));
    bench.sink->take();
    bench.request("4", "echo");
    CHECK(error_code(bench.sink->wait(1).at(0)) == 0);
}

TEST_CASE("what cannot be read is answered without an id, and the next message works")
{
    Bench bench;
    bench.dispatcher.receive("{");
    bench.dispatcher.too_long("", 7);
    bench.dispatcher.receive("\"text\"");
    auto answers = bench.sink->take();
    REQUIRE(answers.size() == 3);
    CHECK(error_code(answers[0]) == parse_error);
    CHECK(error_code(answers[1]) == invalid_request);
    CHECK(error_code(answers[2]) == invalid_request);
    CHECK(answers[0]["id"].is_null());
    bench.request("1", "echo");
    CHECK(bench.sink->wait(1).at(0)["id"] == 1);
}

TEST_CASE("a message that is too long is answered by its id, if it is a request at all")
{
    Bench bench;
    const auto outline = [&](const char* text) {
        bench.dispatcher.too_long(text, 7);
        return bench.sink->take();
    };
    auto answers = outline(R"({"jsonrpc":"2.0","method":"echo","params":{},"id":"a"})");
    REQUIRE(answers.size() == 1);
    CHECK(answers[0]["id"] == "a");
    CHECK(error_code(answers[0]) == invalid_request);
    answers = outline(R"({"jsonrpc":"2.0","method":"refusable","id":-7,"params":{}})");
    REQUIRE(answers.size() == 1);
    CHECK(answers[0]["id"] == -7);
    CHECK(answers[0]["result"] == "too_large");
    // What else is wrong with it does not leave its sender waiting.
    answers = outline(R"({"jsonrpc":"2.0","method":"refusable","id":"b","params":{},"params":{}})");
    REQUIRE(answers.size() == 1);
    CHECK(answers[0]["id"] == "b");
    CHECK(answers[0]["result"] == "too_large");
    CHECK(outline(R"({"jsonrpc":"2.0","method":"echo","params":{}})").empty());
    CHECK(outline(R"({"jsonrpc":"2.0","id":7,"result":{}})").empty());
    for (const auto* none :
         {R"({"id":1,"id":2,"method":"echo"})", R"({"id":{}})", "[]", R"({"i)"}) {
        CAPTURE(none);
        answers = outline(none);
        REQUIRE(answers.size() == 1);
        CHECK(answers[0]["id"].is_null());
    }
}

TEST_CASE("a request that cannot be read is answered by its id where it has one")
{
    Bench bench;
    const auto answer = [&](const std::string& text) {
        bench.dispatcher.receive(text);
        const auto sent = bench.sink->take();
        return sent.empty() ? json() : sent.at(0);
    };
    const auto request = [&](const std::string& params, const std::string& method = "echo") {
        return answer(R"({"jsonrpc":"2.0","id":"x","method":")" + method + R"(","params":)" +
                      params + '}');
    };
    const auto twice = request(R"({"a":{"path":1,"path":2}})");
    CHECK(twice["id"] == "x");
    CHECK(twice["error"]["message"] == "the key \"path\" is given twice in one object");
    const auto half = request(R"({"content":"a\ud83d"})");
    CHECK(half["id"] == "x");
    CHECK(half["error"]["message"].get<std::string>().starts_with(
        "the text in \"content\" has half a character"));
    const auto large = request(R"({"a":1e999})");
    CHECK(large["id"] == "x");
    CHECK(large["error"]["message"] == "the number 1e999 at byte 61 is too large");
    for (const std::string& params : {std::string(70, '[') + std::string(70, ']'), // too deep
                                      std::string("{"), std::string(R"({"a":"b)")}) {
        CAPTURE(params);
        CHECK(request(params)["id"] == "x");
    }
    CHECK(request(R"({"a":"\ud83d"})", "refusable")["result"] == "invalid_argument");
    CHECK(answer(R"({"jsonrpc":"2.0","id":7,"meth)")["id"] == 7);
    const auto cut = request(R"({"name":"a","arguments":{"b":"c)");
    CHECK(cut["error"]["data"] == json{{"cut_off", true}});
    CHECK(answer(R"({"id":7)")["id"].is_null()); // it may have been 71
    CHECK(answer(R"({"id":7,"id":8,)")["id"].is_null());
    // Nothing may be taken for the answer to the client's own request 7.
    CHECK(answer(R"({"jsonrpc":"2.0","id":7,"result":{"a":"\ud83d"}})").is_null());
    CHECK(bench.probe.requests == 0);
}

TEST_CASE("responses and unknown notifications are ignored")
{
    Bench bench;
    bench.dispatcher.receive(R"({"jsonrpc":"2.0","id":1,"result":{}})");
    bench.dispatcher.receive(R"({"jsonrpc":"2.0","method":"whatever"})");
    CHECK(bench.sink->take().empty());
    CHECK(bench.probe.requests == 0);
}

TEST_CASE("a notification is never answered, however malformed")
{
    Bench bench;
    for (const auto* text : {R"({"jsonrpc":"2.0","method":"n","params":[1]})",
                             R"({"jsonrpc":"2.0","method":"cancel","params":7})",
                             R"({"jsonrpc":"1.0","method":"n"})", R"({"method":"n"})"}) {
        CAPTURE(text);
        bench.dispatcher.receive(text);
        CHECK(bench.sink->take().empty());
    }
    // No notification: JSON-RPC's own examples answer it.
    bench.dispatcher.receive(R"({"jsonrpc":"2.0","method":1,"params":"bar"})");
    CHECK(error_code(bench.sink->wait(1).at(0)) == invalid_request);
}

TEST_CASE("requests whose bytes are too many together are told that it is busy")
{
    Bench bench(8, 1000);
    const auto request = [&](const std::string& id, const std::string& method, std::size_t size) {
        bench.dispatcher.receive(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method +
                                 R"(","params":{"a":")" + std::string(size, 'x') + R"("}})");
    };
    request("1", "wait", 2000); // alone it may be as long as a message is allowed to be
    request("2", "refusable", 10);
    CHECK(bench.sink->wait(1).at(0)["result"] == "busy");
    bench.dispatcher.receive(R"({"jsonrpc":"2.0","method":"cancel","params":{"id":1}})");
    CHECK(bench.dispatcher.drain(berth::Deadline::after(3s)));
    bench.sink->take();
    request("3", "wait", 400);
    request("4", "wait", 400);
    request("5", "echo", 400);
    const auto answers = bench.sink->wait(1);
    REQUIRE(answers.size() == 1);
    CHECK(answers[0]["id"] == 5);
    CHECK(answers[0]["error"]["message"].get<std::string>().starts_with("busy: "));
    bench.dispatcher.stop();
    CHECK(bench.dispatcher.drain(berth::Deadline::after(3s)));
    bench.sink->take();
    request("6", "echo", 900);
    CHECK(bench.sink->wait(1).at(0).contains("result"));
}

namespace {

/// While it lives no thread can be started: their stacks are larger than the address space.
class NoThreads {
  public:
    NoThreads()
    {
        ::pthread_getattr_default_np(&before_);
        pthread_attr_t attributes;
        ::pthread_attr_init(&attributes);
        ::pthread_attr_setstacksize(&attributes, std::size_t{1} << 48U);
        ::pthread_setattr_default_np(&attributes);
        ::pthread_attr_destroy(&attributes);
    }

    ~NoThreads()
    {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }

    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;

  private:
    pthread_attr_t before_{};
};

} // namespace

TEST_CASE("without threads every request of a batch is answered all the same")
{
    Bench bench;
    {
        const NoThreads none;
        bench.dispatcher.receive(R"([{"jsonrpc":"2.0","id":1,"method":"refusable"},
            {"jsonrpc":"2.0","id":2,"method":"echo"},{"jsonrpc":"2.0","id":3,"method":"echo"}])");
        bench.request("4", "refusable");
    }
    const auto sent = bench.sink->wait(2);
    REQUIRE(sent.size() == 2);
    REQUIRE(sent[0].size() == 3);
    CHECK(sent[0][0]["result"] == "busy");
    CHECK(sent[0][1]["error"]["message"].get<std::string>().starts_with("busy: "));
    CHECK(sent[1]["result"] == "busy");
    bench.request("4", "echo");
    CHECK(bench.sink->wait(3).at(2)["id"] == 4);
}

TEST_CASE("a batch is answered by one array, cancelled and malformed members included")
{
    Bench bench;
    bench.dispatcher.receive(R"([{"jsonrpc":"2.0","id":1,"method":"echo"},7,
        {"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"method":"wait"},
        {"jsonrpc":"2.0","id":3,"method":"throw"}])");
    CHECK_FALSE(bench.dispatcher.drain(berth::Deadline::after(20ms)));
    bench.dispatcher.cancel("2");
    const auto sent = bench.sink->wait(1);
    REQUIRE(sent.size() == 1);
    REQUIRE(sent[0].is_array());
    CHECK(sent[0].size() == 3);
}

TEST_CASE("an answer in a batch is not read before all of the batch is sent")
{
    Bench bench;
    bench.dispatcher.receive(R"([{"jsonrpc":"2.0","id":1,"method":"read"},
        {"jsonrpc":"2.0","id":2,"method":"wait"}])");
    CHECK_FALSE(bench.dispatcher.drain(berth::Deadline::after(20ms)));
    CHECK(bench.probe.reads == 0);
    bench.dispatcher.stop();
    REQUIRE(bench.dispatcher.drain(berth::Deadline::after(3s)));
    CHECK(bench.sink->take().back().is_array());
    CHECK(bench.probe.reads == 1);
    bench.request("3", "read");
    REQUIRE(bench.dispatcher.drain(berth::Deadline::after(3s)));
    CHECK(bench.probe.reads == 2);
}

TEST_CASE("batches are refused where the handler says so, and when empty")
{
    Bench bench;
    bench.dispatcher.receive("[]");
    bench.dispatcher.receive(R"([{"jsonrpc":"2.0","method":"n"}])");
    CHECK(bench.sink->take().size() == 1);
    bench.probe.batches = false;
    bench.dispatcher.receive(R"([{"jsonrpc":"2.0","id":1,"method":"echo"}])");
    const auto answers = bench.sink->take();
    REQUIRE(answers.size() == 1);
    CHECK(error_code(answers[0]) == invalid_request);
    CHECK(bench.probe.requests == 0);
}
