#include "sandbox/guest/dispatch.hpp"
#include "sandbox/guest/errors.hpp"
#include "sandbox/protocol/messages.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/guest/files/fixture.hpp"
#include "tests/unit/guest/guest_server.hpp"

#include <doctest/doctest.h>

#include <latch>
#include <optional>
#include <string>

using namespace berth;
using berth::guest::Dispatcher;
using berth::guest::Workers;
using berth::protocol::FrameType;
using berth::protocol::Operation;

namespace {

std::string write_request(const std::string& path)
{
    protocol::WriteFileRequest request;
    request.path = path;
    request.content = "content";
    return protocol::encode(request);
}

constexpr auto write_file = static_cast<std::uint16_t>(Operation::write_file);

} // namespace

TEST_CASE("a call that is cancelled while it waits for a thread: answered at once, never done")
{
    guest::testing::Machine machine;
    guest::test::Guest commands(guest::test::Mode::subreaper);
    std::optional<Dispatcher> dispatcher;
    test::GuestServer server(
        [&](const std::shared_ptr<guest::Call>& call, protocol::Frame request) {
            dispatcher->begin(call, std::move(request));
        });
    std::latch release(1);
    Workers workers({.most = 1});
    dispatcher.emplace(guest::Services{.config = machine.config,
                                       .session = machine.session,
                                       .workers = workers,
                                       .commands = *commands.commands,
                                       .connections = [] { return std::size_t{1}; },
                                       .end = [] {}});
    workers.run([&] { release.wait(); });
    auto peer = test::Peer::greeted(server);
    peer.send(FrameType::request, write_request("cancelled"), write_file);
    peer.send(FrameType::cancel, "");
    const auto answer = peer.receive();
    release.count_down();
    REQUIRE(answer.has_value());
    CHECK(answer->type == FrameType::error);
    const auto error = protocol::decode<protocol::ErrorMessage>(answer->payload);
    CHECK(error.code == "cancelled");
    CHECK(error.message == "the call was cancelled before it began");
    // The connection goes on, and behind the next call the cancelled one has had its turn.
    peer.send(FrameType::request, write_request("written"), write_file);
    const auto next = peer.receive();
    REQUIRE(next.has_value());
    CHECK(next->type == FrameType::reply);
    CHECK(machine.exists("written"));
    CHECK_FALSE(machine.exists("cancelled"));
}
