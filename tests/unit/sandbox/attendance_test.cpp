#include "sandbox/base/error.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/guest_server.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

// Who is a client of a machine, and who asks it to pause.

using berth::tests::becomes_true;
using namespace std::chrono_literals;
using berth::ErrorCode;
using berth::UniqueFd;
using berth::guest::Call;
using berth::protocol::Frame;
using berth::protocol::Operation;
using berth::sandbox::Sandbox;
using berth::test::FakeMachine;
using berth::test::Fixture;
using berth::test::GuestServer;
using berth::tests::error_of;

namespace {

bool asks(const Frame& request, Operation operation)
{
    return request.operation == static_cast<std::uint16_t>(operation);
}

} // namespace

TEST_CASE("a guest of a release that could not pause: a clear error, and info without it")
{
    Fixture fixture([](const std::shared_ptr<Call>& call, const Frame& request) {
        if (asks(request, Operation::info)) {
            call->reply({});
            return;
        }
        throw berth::Error(ErrorCode::unsupported, "this guest (0.0) has no operation 17", "hint");
    });
    CHECK_FALSE(fixture.sandbox.info().pause);
    try {
        (void)fixture.sandbox.pause();
        FAIL("it was paused");
    } catch (const berth::Error& error) {
        CHECK(error.code() == ErrorCode::unsupported);
        CHECK(std::string(error.what()).find("earlier release") != std::string::npos);
        CHECK(error.hint().find("sessions kill") != std::string::npos);
    }
    CHECK(error_of([&] { (void)fixture.sandbox.resume(); }) == ErrorCode::unsupported);
}

TEST_CASE("who attends is a client without a call, who looks is none")
{
    Fixture fixture([](const std::shared_ptr<Call>& call, const Frame&) { call->reply({}); });
    fixture.sandbox.ping();
    (void)fixture.sandbox.look(berth::Deadline::after(5s));
    CHECK(fixture.server.clients() == 0);
    fixture.sandbox.attend();
    CHECK(becomes_true([&] { return fixture.server.clients() == 1; }));
    (void)fixture.sandbox.read_file({}, {}); // a server of an earlier release says it by a call
    CHECK(becomes_true([&] { return fixture.server.clients() == 2; }));
}

TEST_CASE("the coming and the leaving of a client is told, that of who looks is not")
{
    GuestServer server([](const std::shared_ptr<Call>& call, const Frame&) { call->reply({}); });
    const auto connect = [&] {
        return std::make_unique<FakeMachine>([&] { return server.connect(); });
    };
    {
        Sandbox looking(connect(), "secret");
        (void)looking.look(berth::Deadline::after(5s));
    }
    CHECK(becomes_true([&] { return server.connections() == 0; }));
    CHECK(server.client_changes() == 0);
    {
        Sandbox attending(connect(), "secret");
        attending.attend();
        CHECK(becomes_true([&] { return server.client_changes() == 1; }));
    }
    CHECK(becomes_true([&] { return server.client_changes() == 2; }));
}

TEST_CASE("who attends and loses that connection does so again, and keeps one that stands")
{
    GuestServer server([](const std::shared_ptr<Call>& call, const Frame&) { call->reply({}); });
    std::vector<UniqueFd> sockets; // of the connections, as they were made
    Sandbox sandbox(std::make_unique<FakeMachine>([&] {
                        auto socket = server.connect();
                        sockets.emplace_back(::dup(socket.get()));
                        return socket;
                    }),
                    "secret");
    sandbox.attend();
    REQUIRE(becomes_true([&] { return server.clients() == 1; }));
    sandbox.ping();
    REQUIRE(sockets.size() == 2);
    SUBCASE("while no call does")
    {
        ::shutdown(sockets.front().get(), SHUT_RDWR);
        REQUIRE(becomes_true([&] { return server.clients() == 0; }));
        CHECK(becomes_true([&] {
            sandbox.ping();
            return server.clients() == 1;
        }));
        CHECK(sockets.size() == 3);
    }
    SUBCASE("with that of a call: at once")
    {
        for (const auto& socket : sockets) {
            ::shutdown(socket.get(), SHUT_RDWR);
        }
        sandbox.ping();
        CHECK(becomes_true([&] { return server.clients() == 1; }));
        CHECK(sockets.size() == 4);
    }
    SUBCASE("not when that of a call broke alone")
    {
        ::shutdown(sockets.back().get(), SHUT_RDWR);
        sandbox.ping();
        CHECK(server.clients() == 1);
        CHECK(sockets.size() == 3);
    }
}

TEST_CASE("who could not attend at once does so with one of the next calls")
{
    GuestServer server([](const std::shared_ptr<Call>& call, const Frame&) { call->reply({}); });
    std::atomic<bool> refuses = true;
    Sandbox sandbox(std::make_unique<FakeMachine>([&] {
                        int pair[2];
                        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
                        const UniqueFd other(pair[1]); // closed at once
                        UniqueFd closed(pair[0]);
                        return refuses ? std::move(closed) : server.connect();
                    }),
                    "secret");
    sandbox.attend();
    refuses = false;
    sandbox.ping();
    CHECK(server.clients() == 0);
    CHECK(becomes_true([&] {
        sandbox.ping();
        return server.clients() == 1;
    }));
}
