#include "sandbox/base/random.hpp"
#include "sandbox/direct/direct_backend.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"
#include "tests/unit/sandbox/programs.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <sys/socket.h>

// What berth sent and answered before results were acknowledged, byte by byte: its servers meet our
// guests, and its guests our servers.

using berth::UniqueFd;
using berth::protocol::ExecuteReply;
using berth::protocol::FrameType;
using berth::sandbox::Receipt;
using berth::sandbox::Sandbox;

namespace {

std::string bytes(std::string_view hex)
{
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    std::string text;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        text += static_cast<char>((digit(hex[i]) << 4) + digit(hex[i + 1]));
    }
    return text;
}

/// `exit 3`, of its server.
constexpr std::string_view request =
    "4b000000030003000a203030313132323333343435353636373738383939616162626363646465656666120665"
    "786974203318c0a9072200380040a09c0148a09c01500158b0ea016000680070007800800100";
/// To it, of its guest.
constexpr std::string_view reply =
    "5f0000000400000008001006180020022a0a2f686f6d652f7573657232003a180a00120018002000280030003a"
    "0040004a0050005800600042180a00120018002000280030003a0040004a00500058006000480050005a006200"
    "70007800800100880100920100";
/// A job that has ended.
constexpr std::string_view entry =
    "0a0a6a6f622d312d3763336512066578697420331a05656e646564200028053806";

} // namespace

TEST_CASE("of a server that knows nothing of acknowledgements every result is taken for seen")
{
    const berth::tests::TemporaryDirectory state;
    const auto backend = berth::direct::make_backend(BERTH_GUEST_PROGRAM, state.path());
    berth::sandbox::MachineSpec spec;
    spec.key_hash = berth::random_hex(32);
    spec.session = "test";
    spec.generation = berth::random_hex(16);
    spec.token = berth::random_hex(32);
    auto machine = backend->create(spec);
    const auto record = machine->record();
    const auto deadline = berth::Deadline::after(std::chrono::seconds(20));
    auto channel = machine->connect(deadline);
    std::string hello;
    put_frame(hello, FrameType::hello,
              berth::protocol::encode(berth::protocol::Hello{.oldest = 1,
                                                             .newest = 1,
                                                             .build = "old",
                                                             .token = spec.token,
                                                             .generation = spec.generation}));
    channel->send(hello);
    channel->send(bytes(request));
    berth::protocol::FrameReader frames(berth::protocol::max_payload_size);
    std::optional<ExecuteReply> answer;
    while (!answer) {
        std::string buffer(4096, '\0');
        frames.feed({buffer.data(), channel->receive(buffer.data(), buffer.size(), deadline)});
        while (const auto frame = frames.next()) {
            if (frame->type == FrameType::reply) {
                answer = berth::protocol::decode<ExecuteReply>(frame->payload);
            }
        }
    }
    CHECK(answer->exit_code == 3);
    CHECK_FALSE(answer->acknowledge);
    channel.reset(); // and nothing is marked or kept
    {
        Sandbox sandbox(std::move(machine), spec.token);
        const auto info = sandbox.info();
        CHECK(info.jobs.empty());
        CHECK(info.ended.empty());
    }
    backend->destroy(record, true);
}

TEST_CASE("a guest that knows nothing of acknowledgements is sent none")
{
    int pair[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    std::string then = "nothing";
    std::jthread old([&then, fd = pair[1]] {
        berth::test::Peer guest{UniqueFd(fd)};
        (void)guest.receive();
        guest.send(FrameType::hello_reply,
                   berth::protocol::encode(berth::protocol::HelloReply{
                       .version = 1, .build = "old", .generation = "g1", .pid = 1}));
        (void)guest.receive();
        guest.send_bytes(bytes(reply));
        if (const auto frame = guest.receive()) {
            then = frame->type == FrameType::request ? "a request" : "another frame";
            guest.send(FrameType::reply, "");
        }
    });
    auto* machine = new berth::test::FakeMachine([fd = pair[0]] { return UniqueFd(fd); });
    Sandbox sandbox(std::unique_ptr<berth::sandbox::Machine>(machine), "secret");
    berth::protocol::ExecuteRequest asked;
    asked.acknowledge = true;
    Receipt receipt;
    CHECK(sandbox.execute(asked, {}, {}, &receipt).exit_code == 3);
    CHECK_FALSE(static_cast<bool>(receipt));
    receipt.acknowledge();
    berth::protocol::InfoRequest claim;
    claim.claim_unseen = true; // which it does not know either
    CHECK(sandbox.info({}, claim).jobs.empty());
    old.join();
    CHECK(then == "a request");
    CHECK(machine->connects == 1);
}

TEST_CASE("a job in a list of an earlier guest is not marked")
{
    const auto job = berth::protocol::decode<berth::protocol::JobEntry>(bytes(entry));
    CHECK(job.job_id == "job-1-7c3e");
    CHECK(job.exit_code == 3);
    CHECK_FALSE(job.unseen);
    CHECK(job.order == 0);
    CHECK_FALSE(job.fate);
    CHECK(job.ended_by.empty());
}
