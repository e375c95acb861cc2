#include "sandbox/guest/dispatch.hpp"
#include "sandbox/guest/errors.hpp"
#include "sandbox/protocol/messages.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/guest/files/fixture.hpp"
#include "tests/unit/guest/guest_server.hpp"
#include "tests/unit/guest/hung_worker.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

using namespace berth;
using berth::guest::Dispatcher;
using berth::protocol::FrameType;
using berth::protocol::Operation;

namespace {

std::string write_request(const std::string& path, std::size_t size = 10)
{
    protocol::WriteFileRequest request;
    request.path = path;
    request.content = std::string(size, 'x');
    return protocol::encode(request);
}

/// A guest's dispatcher whose one worker hangs until it is released, or until the end.
struct BusyGuest {
    guest::testing::Machine machine;
    guest::test::Guest commands{guest::test::Mode::subreaper};
    guest::Pauses pauses{commands.loop,
                         *commands.commands,
                         {.clients = [] { return std::size_t{1}; }, .end = [] {}}};
    std::optional<Dispatcher> dispatcher;
    test::GuestServer server{
        [this](const std::shared_ptr<guest::Call>& call, protocol::Frame request) {
            dispatcher->begin(call, std::move(request));
        },
        {.room = 4'000'000}};
    guest::test::HungWorker hung;

    BusyGuest()
    {
        dispatcher.emplace(guest::Services{.config = machine.config,
                                           .session = machine.session,
                                           .workers = hung.workers,
                                           .commands = *commands.commands,
                                           .pauses = pauses,
                                           .connections = [] { return std::size_t{1}; },
                                           .ends_in = [] { return std::nullopt; },
                                           .end = [] {}});
    }

    void release() { hung.release(); }
};

constexpr auto write_file = static_cast<std::uint16_t>(Operation::write_file);

} // namespace

TEST_CASE("a call that is cancelled while it waits for a thread: answered at once, never done")
{
    BusyGuest guest;
    auto peer = test::Peer::greeted(guest.server);
    peer.send(FrameType::request, write_request("cancelled"), write_file);
    peer.send(FrameType::cancel, "");
    const auto answer = peer.receive();
    REQUIRE(answer.has_value());
    CHECK(answer->type == FrameType::error);
    const auto error = protocol::decode<protocol::ErrorMessage>(answer->payload);
    CHECK(error.code == "cancelled");
    CHECK(error.message == "the call was cancelled before it began");
    guest.release();
    // The connection goes on, and behind the next call the cancelled one has had its turn.
    peer.send(FrameType::request, write_request("written"), write_file);
    const auto next = peer.receive();
    REQUIRE(next.has_value());
    CHECK(next->type == FrameType::reply);
    CHECK(guest.machine.exists("written"));
    CHECK_FALSE(guest.machine.exists("cancelled"));
}

TEST_CASE("who cancels a kill is told that the job ends all the same")
{
    BusyGuest guest;
    auto request = guest::test::Guest::request("sleep 60");
    request.background = true;
    const auto job = guest.commands.run(request).reply.job_id;
    const auto message_of = [&](Operation operation, const std::string& payload) {
        auto peer = test::Peer::greeted(guest.server);
        peer.send(FrameType::request, payload, static_cast<std::uint16_t>(operation));
        peer.send(FrameType::cancel, "");
        const auto answer = peer.receive();
        REQUIRE(answer.has_value());
        REQUIRE(answer->type == FrameType::error);
        return protocol::decode<protocol::ErrorMessage>(answer->payload).message;
    };
    protocol::JobOutputRequest output;
    output.job_id = job;
    output.wait = 60'000;
    CHECK(message_of(Operation::job_output, protocol::encode(output)) ==
          "the call was cancelled; the job goes on");
    const protocol::JobKillRequest kill{job, SIGTERM, 60'000};
    CHECK(
        message_of(Operation::job_kill, protocol::encode(kill)).find("is ended after the grace") !=
        std::string::npos);
}

TEST_CASE("a large call that has ended in the queue has given back its room")
{
    BusyGuest guest;
    // Each takes all the room; the second gets it while the first is still in the queue.
    auto first = test::Peer::greeted(guest.server);
    first.send(FrameType::request, write_request("first", 2'000'000), write_file);
    SUBCASE("cancelled")
    {
        first.send(FrameType::cancel, "");
        CHECK(first.receive_error() == "cancelled");
    }
    SUBCASE("its host is gone")
    {
        first.close();
    }
    auto second = test::Peer::greeted(guest.server);
    second.send(FrameType::request, write_request("second", 2'000'000), write_file);
    second.send(FrameType::cancel, "");
    CHECK(second.receive_error() == "cancelled");
    guest.release();
    auto third = test::Peer::greeted(guest.server);
    third.send(FrameType::request, write_request("third", 2'000'000), write_file);
    const auto reply = third.receive();
    REQUIRE(reply.has_value());
    CHECK(reply->type == FrameType::reply);
    CHECK_FALSE(guest.machine.exists("first"));
    CHECK_FALSE(guest.machine.exists("second"));
    CHECK(guest.machine.get("third").size() == 2'000'000);
}
