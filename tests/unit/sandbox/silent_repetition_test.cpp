// A call is sent again to a guest that says nothing any more.

#include "sandbox/protocol/call_name.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include <sys/socket.h>

using namespace berth;
using protocol::Operation;
using sandbox::Sandbox;
using tests::becomes_true;
using tests::error_of;

namespace {

/// A guest that takes a request and breaks, then one connection on which it says nothing, and then
/// has never heard of any call.
class Mute {
  public:
    std::atomic<int> connections = 0;
    std::atomic<int> recalls = 0;

    [[nodiscard]] std::unique_ptr<Sandbox> sandbox(std::chrono::milliseconds patience)
    {
        return std::make_unique<Sandbox>(
            std::make_unique<test::FakeMachine>([this] { return connect(); }), "secret", patience);
    }

  private:
    UniqueFd connect()
    {
        int pair[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        threads_.emplace_back([this, fd = pair[1],
                               number = ++connections](const std::stop_token& stop) {
            test::Peer guest{UniqueFd(fd)};
            (void)guest.receive();
            if (number == 2) {
                while (!stop.stop_requested()) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                }
                return;
            }
            guest.send(
                protocol::FrameType::hello_reply,
                protocol::encode(protocol::HelloReply{
                    .version = 1, .build = "x", .generation = "g1", .pid = 1, .repeats = true}));
            const auto request = guest.receive();
            if (number > 2 && request) {
                recalls += request->operation == static_cast<std::uint16_t>(Operation::recall);
                protocol::ErrorMessage error;
                error.code = "not_found";
                error.details[protocol::unknown_call] = "it";
                guest.send(protocol::FrameType::error, protocol::encode(error));
                (void)guest.receive();
            }
        });
        return UniqueFd(pair[0]);
    }

    std::vector<std::jthread> threads_;
};

} // namespace

TEST_SUITE("sandbox/silent_repetition")
{
    TEST_CASE("a repetition to a guest that says nothing ends with a cancel of its call")
    {
        Mute guest;
        std::stop_source stop;
        const auto began = std::chrono::steady_clock::now();
        std::jthread canceller([&] {
            CHECK(becomes_true([&] { return guest.connections == 2; }));
            stop.request_stop();
        });
        // Asked for its answer alone, the guest has never heard of it.
        const auto sandbox = guest.sandbox(std::chrono::seconds(60));
        CHECK(error_of([&] { (void)sandbox->write_file({}, stop.get_token()); }) ==
              ErrorCode::cancelled);
        CHECK(guest.recalls == 1);
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(5));
    }

    TEST_CASE("a repetition to a guest that says nothing ends with the time of its call")
    {
        Mute guest;
        const auto began = std::chrono::steady_clock::now();
        const auto sandbox = guest.sandbox(std::chrono::seconds(60));
        // Ten seconds, as for whatever the guest does at once.
        CHECK(error_of([&] { (void)sandbox->job_input({}, {}); }) == ErrorCode::backend_error);
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));
        CHECK(guest.connections == 2);
    }
}
