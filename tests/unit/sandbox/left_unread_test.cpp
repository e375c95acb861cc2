// A guest that is killed as a call comes in: whether it has had the request decides whether the
// call may be made again.

#include "sandbox/base/error.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/unix_channel.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

using berth::ErrorCode;
using berth::UniqueFd;
using berth::protocol::FrameType;
using berth::sandbox::Sandbox;
using berth::sandbox::Unsent;
using berth::test::FakeMachine;
using berth::test::Peer;

namespace {

void wait_for_bytes(int fd)
{
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&waiting, 1, 10'000) == 1);
}

/// Says hello, does `what` with its end, and closes it.
class Dying {
  public:
    explicit Dying(std::function<void(Peer& guest, int fd)> what) : what_(std::move(what)) {}

    std::unique_ptr<Sandbox> sandbox()
    {
        return std::make_unique<Sandbox>(
            std::make_unique<FakeMachine>([this] { return connect(); }), "secret");
    }

  private:
    UniqueFd connect()
    {
        int pair[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        threads_.emplace_back([this, fd = pair[1]] {
            Peer guest{UniqueFd(fd)};
            (void)guest.receive();
            guest.send(FrameType::hello_reply,
                       berth::protocol::encode(berth::protocol::HelloReply{
                           .version = 1, .build = "x", .generation = "g1", .pid = 1}));
            wait_for_bytes(fd);
            what_(guest, fd);
        });
        return UniqueFd(pair[0]);
    }

    std::function<void(Peer& guest, int fd)> what_;
    std::vector<std::jthread> threads_;
};

} // namespace

TEST_SUITE("sandbox/left_unread")
{
    TEST_CASE("a request that nobody has read has not begun")
    {
        Dying guest([](Peer& /*guest*/, int /*fd*/) {});
        CHECK_THROWS_AS((void)guest.sandbox()->write_file({}, {}), Unsent);
    }

    TEST_CASE("one of which the end was not read has not begun either")
    {
        Dying guest([](Peer& /*guest*/, int fd) {
            std::array<char, 8> beginning{};
            REQUIRE(::recv(fd, beginning.data(), beginning.size(), MSG_WAITALL) == 8);
        });
        CHECK_THROWS_AS((void)guest.sandbox()->write_file({}, {}), Unsent);
    }

    TEST_CASE("one that was read may have been done")
    {
        Dying guest([](Peer& peer, int /*fd*/) { REQUIRE(peer.receive()); });
        const auto sandbox = guest.sandbox();
        try {
            (void)sandbox->write_file({}, {});
            FAIL("it was answered");
        } catch (const Unsent&) {
            FAIL("it was read");
        } catch (const berth::Error& error) {
            CHECK(error.code() == ErrorCode::session_lost);
        }
    }

    TEST_CASE("a cancel that was not read says nothing about its request")
    {
        std::stop_source stop;
        Dying guest([&](Peer& peer, int fd) {
            REQUIRE(peer.receive());
            stop.request_stop();
            wait_for_bytes(fd); // the cancel
        });
        const auto sandbox = guest.sandbox();
        try {
            (void)sandbox->write_file({}, stop.get_token());
            FAIL("it was answered");
        } catch (const Unsent&) {
            FAIL("it was read");
        } catch (const berth::Error& error) {
            CHECK(error.code() == ErrorCode::session_lost);
        }
    }

    TEST_CASE("what cut a call off is told, not that the next machine's guest refuses its server")
    {
        std::vector<std::jthread> guests;
        Sandbox sandbox(
            std::make_unique<FakeMachine>([&guests] {
                int pair[2];
                REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
                guests.emplace_back([first = guests.empty(), fd = pair[1]] {
                    Peer guest{UniqueFd(fd)};
                    (void)guest.receive();
                    if (first) {
                        guest.send(
                            FrameType::hello_reply,
                            berth::protocol::encode(berth::protocol::HelloReply{.version = 1,
                                                                                .build = "x",
                                                                                .generation = "g1",
                                                                                .pid = 1,
                                                                                .repeats = true}));
                        (void)guest.receive();
                    } else {
                        guest.send(
                            FrameType::error,
                            berth::protocol::encode(berth::protocol::ErrorMessage{
                                .code = "authentication_required", .message = "not this token"}));
                    }
                });
                return UniqueFd(pair[0]);
            }),
            "secret");
        try {
            (void)sandbox.write_file({}, {});
            FAIL("it was answered");
        } catch (const berth::Error& error) {
            CHECK(error.code() == ErrorCode::session_lost);
            CHECK(std::string(error.what()) ==
                  "writing a file was cut off: the sandbox's guest closed the connection");
        }
        CHECK(guests.size() > 1);
    }

    TEST_CASE("a channel says that its peer left something unread, and only then")
    {
        const auto end_of = [](bool read) {
            int pair[2];
            REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
            berth::sandbox::UnixChannel channel{UniqueFd(pair[0])};
            channel.send("abc");
            {
                const UniqueFd peer(pair[1]);
                std::array<char, 3> all{};
                REQUIRE((!read || ::recv(peer.get(), all.data(), all.size(), 0) == 3));
            }
            std::array<char, 8> buffer{};
            return channel.receive(buffer.data(), buffer.size(),
                                   berth::Deadline::after(std::chrono::seconds(10)));
        };
        CHECK_THROWS_AS((void)end_of(false), berth::sandbox::LeftUnread);
        CHECK(end_of(true) == 0);
    }
}
