#include "sandbox/base/error.hpp"
#include "sandbox/guest/workers.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/unix_channel.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/guest_server.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using berth::tests::becomes_true;
using namespace std::chrono_literals;
using berth::ErrorCode;
using berth::UniqueFd;
using berth::guest::Call;
using berth::protocol::Frame;
using berth::protocol::FrameType;
using berth::protocol::Operation;
using berth::sandbox::Sandbox;
using berth::test::FakeMachine;
using berth::test::Fixture;
using berth::test::GuestServer;
using berth::tests::error_of;

namespace {

/// A sandbox whose guest says hello as it should and then sends `bytes` to every request.
class Hostile {
  public:
    explicit Hostile(std::string bytes, std::string generation = "g1")
        : bytes_(std::move(bytes)), generation_(std::move(generation))
    {
    }

    ErrorCode answer_to_info()
    {
        Sandbox sandbox(std::make_unique<FakeMachine>([this] { return connect(); }), "secret");
        return error_of([&] { (void)sandbox.info(); }).value_or(ErrorCode::internal);
    }

  private:
    UniqueFd connect()
    {
        int pair[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        threads_.emplace_back([this, fd = pair[1]] {
            berth::test::Peer guest{UniqueFd(fd)};
            (void)guest.receive();
            guest.send(FrameType::hello_reply,
                       berth::protocol::encode(berth::protocol::HelloReply{
                           .version = 1, .build = "x", .generation = generation_, .pid = 1}));
            if (guest.receive()) {
                guest.send_bytes(bytes_);
                (void)guest.receive();
            }
        });
        return UniqueFd(pair[0]);
    }

    std::string bytes_;
    std::string generation_;
    std::vector<std::jthread> threads_;
};

std::string frame(FrameType type, std::string_view payload)
{
    std::string bytes;
    berth::protocol::put_frame(bytes, type, payload);
    return bytes;
}

bool is(const Frame& request, Operation operation)
{
    return request.operation == static_cast<std::uint16_t>(operation);
}

} // namespace

TEST_CASE("calls one after the other share a connection, calls at once do not")
{
    Fixture fixture([](const std::shared_ptr<Call>& call, const Frame&) { call->reply({}); });
    for (int i = 0; i < 20; ++i) {
        fixture.sandbox.ping();
    }
    CHECK(fixture.machine->connects == 1);
}

TEST_CASE("a slow call does not hold up another, and few connections are kept")
{
    std::vector<std::shared_ptr<Call>> slow;
    std::atomic<int> waiting = 0;
    Fixture fixture([&](const std::shared_ptr<Call>& call, const Frame& request) {
        if (is(request, Operation::read_file)) {
            slow.push_back(call);
            ++waiting;
        } else {
            call->reply({});
        }
    });
    {
        std::vector<std::jthread> callers;
        for (int i = 0; i < 20; ++i) {
            callers.emplace_back([&] { (void)fixture.sandbox.read_file({}, {}); });
        }
        REQUIRE(becomes_true([&] { return waiting == 20; }));
        fixture.sandbox.ping();
        CHECK(fixture.server.connections() == 21);
        fixture.server.loop().post([&] {
            for (const auto& call : slow) {
                call->reply({});
            }
        });
    }
    CHECK(becomes_true([&] { return fixture.server.connections() == Sandbox::most_idle; }));
}

TEST_CASE("what does no work is answered while calls take all places")
{
    std::vector<std::shared_ptr<Call>> stuck;
    std::atomic<std::size_t> calls = 0;
    Fixture fixture([&](const std::shared_ptr<Call>& call, const Frame& request) {
        if (!is(request, Operation::grep)) {
            call->reply({});
            return;
        }
        call->on_cancel([&call = *stuck.emplace_back(call)] { call.reply({}); });
        ++calls;
    });
    std::stop_source stop;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < Sandbox::most_calls + 1; ++i) { // one of them waits
        threads.emplace_back(
            [&] { (void)error_of([&] { (void)fixture.sandbox.grep({}, stop.get_token()); }); });
    }
    REQUIRE(becomes_true([&] { return calls == Sandbox::most_calls; }));
    std::atomic<int> answers = 0;
    threads.emplace_back([&] {
        (void)error_of([&] {
            fixture.sandbox.ping(stop.get_token());
            ++answers;
            (void)fixture.sandbox.info(stop.get_token());
            ++answers;
            fixture.sandbox.shutdown();
            ++answers;
        });
    });
    CHECK(becomes_true([&] { return answers == 3; }));
    CHECK(calls == Sandbox::most_calls);
    stop.request_stop();
}

TEST_CASE("an error frame becomes the Error it was, and the connection is used again")
{
    Fixture fixture([](const std::shared_ptr<Call>&, const Frame&) {
        throw berth::Error(ErrorCode::conflict, "changed", "read it again")
            .with_detail("sha256", "abc");
    });
    for (int i = 0; i < 2; ++i) {
        try {
            (void)fixture.sandbox.write_file({}, {});
            FAIL("no error");
        } catch (const berth::Error& error) {
            CHECK(error.code() == ErrorCode::conflict);
            CHECK(std::string(error.what()) == "changed");
            CHECK(error.hint() == "read it again");
            CHECK(error.retryable());
            CHECK(error.details().at("sha256") == "abc");
        }
    }
    CHECK(fixture.machine->connects == 1);
}

TEST_CASE("a stop request is passed on, and what the guest then answers is the result")
{
    Fixture fixture([&](const std::shared_ptr<Call>& call, const Frame& request) {
        if (is(request, Operation::execute)) {
            call->on_cancel([call] {
                berth::protocol::ExecuteReply reply;
                reply.fate = berth::protocol::Fate::cancelled;
                reply.out.head = "so far";
                call->reply(berth::protocol::encode(reply));
            });
            return;
        }
        fixture.server.workers().run([call] {
            while (!call->stop_token().stop_requested()) {
                std::this_thread::sleep_for(1ms);
            }
            call->fail(std::make_exception_ptr(berth::Error(ErrorCode::cancelled, "stopped")));
        });
    });
    const auto stop_soon = [](std::stop_source stop) {
        return std::jthread([stop = std::move(stop)]() mutable {
            std::this_thread::sleep_for(20ms);
            stop.request_stop();
        });
    };
    std::stop_source first;
    const auto thread = stop_soon(first);
    const auto reply = fixture.sandbox.execute({}, first.get_token());
    CHECK(reply.fate == berth::protocol::Fate::cancelled);
    CHECK(reply.out.head == "so far");
    std::stop_source second;
    const auto other = stop_soon(second);
    CHECK(error_of([&] { (void)fixture.sandbox.grep({}, second.get_token()); }) ==
          ErrorCode::cancelled);
    // Stopped before it began: nothing is sent.
    CHECK(error_of([&] { (void)fixture.sandbox.grep({}, second.get_token()); }) ==
          ErrorCode::cancelled);
    CHECK(fixture.machine->connects == 1);
}

TEST_CASE("a guest that does not obey a cancel is given up after a time")
{
    std::vector<std::shared_ptr<Call>> kept;
    Fixture fixture([&](const std::shared_ptr<Call>& call, const Frame&) { kept.push_back(call); });
    std::stop_source stop;
    const auto begin = std::chrono::steady_clock::now();
    std::jthread stopper([&] {
        std::this_thread::sleep_for(20ms);
        stop.request_stop();
    });
    CHECK(error_of([&] { (void)fixture.sandbox.execute({}, stop.get_token()); }) ==
          ErrorCode::cancelled);
    const auto time = std::chrono::steady_clock::now() - begin;
    CHECK(time >= Sandbox::cancel_time);
    CHECK(time < Sandbox::cancel_time + 3s);
}

TEST_CASE("a cancel of a request that the guest does not read: soon, and nothing was done")
{
    std::atomic<int> calls = 0;
    Fixture fixture(
        [&](const std::shared_ptr<Call>& call, const Frame&) {
            ++calls;
            call->reply({});
        },
        {.room = 1'000'000});
    auto other = berth::test::Peer::greeted(fixture.server);
    std::string header;
    berth::protocol::put_header(header, FrameType::request, 1'000'000, 1);
    other.send_bytes(header); // all the room, and no more of it
    berth::protocol::WriteFileRequest request;
    request.content.assign(10'000'000, 'x');
    std::stop_source stop;
    const std::jthread stopper([&] {
        std::this_thread::sleep_for(100ms);
        stop.request_stop();
    });
    const auto begin = std::chrono::steady_clock::now();
    try {
        (void)fixture.sandbox.write_file(request, stop.get_token());
        FAIL("it was answered");
    } catch (const berth::Error& error) {
        CHECK(error.code() == ErrorCode::cancelled);
        CHECK(std::string(error.what()) == "the call was cancelled before it began");
    }
    CHECK(std::chrono::steady_clock::now() - begin < Sandbox::cancel_time);
    CHECK(calls == 0);
    other.close();
    (void)fixture.sandbox.write_file(request, {});
    CHECK(calls == 1);
}

TEST_CASE("a connection that the guest closed while it was idle costs nothing")
{
    std::atomic<int> calls = 0;
    auto old = std::make_unique<GuestServer>([&](const std::shared_ptr<Call>& call, const Frame&) {
        ++calls;
        call->reply({});
    });
    auto* machine = new FakeMachine([&] { return old->connect(); });
    Sandbox sandbox(std::unique_ptr<berth::sandbox::Machine>(machine), "secret");
    sandbox.ping();
    old = std::make_unique<GuestServer>([&](const std::shared_ptr<Call>& call, const Frame&) {
        ++calls;
        call->reply({});
    });
    sandbox.ping();
    CHECK(calls == 2);
    CHECK(machine->connects == 2);
}

TEST_CASE("a guest that dies during a call: session_lost, and the call is not repeated")
{
    std::atomic<int> calls = 0;
    std::unique_ptr<GuestServer> server;
    const auto handler = [&](const std::shared_ptr<Call>& call, const Frame& request) {
        if (is(request, Operation::ping)) {
            call->reply({});
        } else {
            ++calls;
        }
    };
    server = std::make_unique<GuestServer>(handler);
    std::atomic<bool> dies = false;
    Sandbox sandbox(std::make_unique<FakeMachine>([&] {
                        return dies ? throw berth::Error(ErrorCode::session_lost, "gone")
                                    : server->connect();
                    }),
                    "secret");
    sandbox.ping();
    std::jthread killer([&] {
        becomes_true([&] { return calls == 1; });
        dies = true;
        server.reset();
    });
    bool unsent = false;
    CHECK(error_of([&] {
              try {
                  (void)sandbox.write_file({}, {});
              } catch (const berth::sandbox::Unsent&) {
                  unsent = true;
                  throw;
              }
          }) == ErrorCode::session_lost);
    CHECK_FALSE(unsent); // it may have been done
    CHECK(calls == 1);
}

TEST_CASE("a guest that is gone before a call: nothing was sent, and that is told apart")
{
    auto server = std::make_unique<GuestServer>(
        [](const std::shared_ptr<Call>& call, const Frame& /*request*/) { call->reply({}); });
    Sandbox sandbox(std::make_unique<FakeMachine>([&] {
                        return server ? server->connect()
                                      : throw berth::Error(ErrorCode::session_lost, "gone");
                    }),
                    "secret");
    sandbox.ping();
    server.reset();
    CHECK_THROWS_AS((void)sandbox.write_file({}, {}), berth::sandbox::Unsent);
}

TEST_CASE("a guest in the place of the one that was known: nothing was sent")
{
    const auto answer = [](const std::shared_ptr<Call>& call, const Frame& /*request*/) {
        call->reply({});
    };
    auto server = std::make_unique<GuestServer>(answer);
    Sandbox sandbox(std::make_unique<FakeMachine>([&] { return server->connect(); }), "wrong");
    CHECK_THROWS_AS(sandbox.ping(), berth::sandbox::Unsent);
}

TEST_CASE("a wrong token is what the guest says it is")
{
    const GuestServer server([](const auto&, const auto&) {});
    Sandbox sandbox(std::make_unique<FakeMachine>([&] { return server.connect(); }), "wrong");
    CHECK(error_of([&] { sandbox.ping(); }) == ErrorCode::authentication_required);
}

TEST_CASE("a hostile guest: backend_error, whatever it sends")
{
    using enum ErrorCode;
    CHECK(Hostile("", "g2").answer_to_info() == backend_error);
    CHECK(Hostile("HTTP/1.1 200 OK\r\n\r\n").answer_to_info() == backend_error);
    CHECK(Hostile(frame(FrameType::request, "")).answer_to_info() == backend_error);
    CHECK(Hostile(frame(FrameType::data, "x")).answer_to_info() == backend_error);
    CHECK(Hostile(frame(FrameType::hello_reply, "")).answer_to_info() == backend_error);
    CHECK(Hostile(frame(FrameType::reply, "\x0a\xff")).answer_to_info() == backend_error);
    CHECK(Hostile(frame(FrameType::error, "\x0a\xff")).answer_to_info() == backend_error);
    CHECK(Hostile(frame(FrameType::error, "")).answer_to_info() == backend_error);
    CHECK(Hostile(std::string("\xff\xff\xff\xff\x04\0\0\0", 8)).answer_to_info() == backend_error);
    const auto event = frame(FrameType::event, "of a newer guest");
    CHECK(Hostile(event + event + frame(FrameType::request, "")).answer_to_info() == backend_error);
    const std::string large(berth::protocol::max_event_size + 1, 'x');
    CHECK(Hostile(frame(FrameType::event, large)).answer_to_info() == backend_error);
}

TEST_CASE("what a guest tells during a call goes to who asked, and to nobody else")
{
    const auto event = [](const std::string& text) {
        return berth::protocol::encode(
            berth::protocol::Event{.printed = {{.text = text, .total_bytes = 9}}});
    };
    std::string second = event("two");
    Fixture fixture([&](const std::shared_ptr<Call>& call, const Frame&) {
        CHECK(call->tell(event("one")));
        CHECK(call->tell(second));
        call->reply({});
        call->reply("too late");
    });
    std::vector<std::string> told;
    const auto listen = [&](const berth::protocol::PrintedTail& tail) {
        told.push_back(tail.text);
    };
    (void)fixture.sandbox.execute({}, {}, listen);
    CHECK(told == std::vector<std::string>{"one", "two"});
    (void)fixture.sandbox.execute({}, {});
    (void)fixture.sandbox.read_file({}, {});
    CHECK(told.size() == 2);
    second = "\x2a\x01x"; // a field that only a newer guest has
    (void)fixture.sandbox.job_output({}, {}, listen);
    CHECK(told.size() == 3);
    second = "\x0a\xff";
    CHECK(error_of([&] { (void)fixture.sandbox.execute({}, {}, listen); }) ==
          ErrorCode::backend_error);
}

TEST_CASE("a request larger than a socket takes, and its answer")
{
    Fixture fixture([](const std::shared_ptr<Call>& call, const Frame& request) {
        const auto decoded =
            berth::protocol::decode<berth::protocol::WriteFileRequest>(request.payload);
        berth::protocol::WriteFileReply reply;
        reply.bytes = decoded.content.size();
        call->reply(berth::protocol::encode(reply));
    });
    berth::protocol::WriteFileRequest request;
    request.content.assign(10'000'000, 'x');
    CHECK(fixture.sandbox.write_file(request, {}).bytes == 10'000'000);
    CHECK(fixture.sandbox.write_file(request, {}).bytes == 10'000'000);
    request.content.assign(berth::protocol::max_payload_size + 1, 'x');
    CHECK(error_of([&] { (void)fixture.sandbox.write_file(request, {}); }) == ErrorCode::too_large);
    CHECK(fixture.machine->connects == 1);
}

TEST_CASE("a call to a guest that was stopped does not wait for ever")
{
    std::promise<void> goes_on;
    const auto stop = [&](GuestServer& server) {
        server.loop().post([&] { goes_on.get_future().wait(); });
    };
    GuestServer server([](const std::shared_ptr<Call>& call, const Frame& request) {
        if (request.operation == static_cast<std::uint16_t>(Operation::read_file)) {
            call->reply({});
        }
    });
    Sandbox sandbox(std::make_unique<FakeMachine>([&] { return server.connect(); }), "secret",
                    200ms);
    (void)sandbox.read_file({}, {});
    const auto expect_silence = [](const auto& operation) {
        try {
            operation();
            FAIL("answered");
        } catch (const berth::Error& error) {
            CHECK(error.code() == ErrorCode::backend_error);
            CHECK(std::string(error.what()).find("does not answer") != std::string::npos);
        }
    };
    SUBCASE("before it")
    {
        stop(server);
        expect_silence([&] { (void)sandbox.read_file({}, {}); });
    }
    SUBCASE("in the midst of it")
    {
        std::thread later([&] {
            std::this_thread::sleep_for(500ms); // it is asked, and answers
            stop(server);
        });
        expect_silence([&] { (void)sandbox.write_file({}, {}); });
        later.join();
    }
    goes_on.set_value();
}
