// A connection that breaks at any byte of a call: what changes something is done once, and its
// answer comes.

#include "sandbox/protocol/call_name.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/sandbox/cutting_machine.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

using namespace berth;
using protocol::Operation;
using sandbox::Sandbox;
using test::Cut;
using test::CuttingMachine;
using test::kept_or_not;
using test::reach_of;
using tests::error_of;

namespace {

/// Makes a call of each operation that has a name, and says what number its answer has.
using Asking = std::function<std::uint64_t(Sandbox&)>;

struct Named {
    const char* words;
    Asking ask;
};

const std::vector<Named>& named_calls()
{
    static const std::vector<Named> calls{
        {"execute", [](Sandbox& sandbox) { return sandbox.execute({}, {}).duration; }},
        {"write_file", [](Sandbox& sandbox) { return sandbox.write_file({}, {}).bytes; }},
        {"edit_file", [](Sandbox& sandbox) { return sandbox.edit_file({}, {}).size; }},
        {"patch_files",
         [](Sandbox& sandbox) {
             return static_cast<std::uint64_t>(sandbox.patch_files({}, {}).diff.size());
         }},
        {"job_input", [](Sandbox& sandbox) { return sandbox.job_input({}, {}).taken; }},
        {"job_kill",
         [](Sandbox& sandbox) { return std::uint64_t{sandbox.job_kill({}, {}).signalled}; }},
    };
    return calls;
}

/// The answer of that number to each of them.
std::string numbered_reply(Operation operation, std::uint64_t number)
{
    if (operation == Operation::execute) {
        protocol::ExecuteReply reply;
        reply.duration = number;
        return protocol::encode(reply);
    }
    if (operation == Operation::write_file) {
        protocol::WriteFileReply reply;
        reply.bytes = number;
        return protocol::encode(reply);
    }
    if (operation == Operation::edit_file) {
        protocol::EditFileReply reply;
        reply.size = number;
        return protocol::encode(reply);
    }
    if (operation == Operation::patch_files) {
        protocol::PatchFilesReply reply;
        reply.diff.assign(number, 'x');
        return protocol::encode(reply);
    }
    if (operation == Operation::job_input) {
        protocol::JobInputReply reply;
        reply.taken = number;
        return protocol::encode(reply);
    }
    if (operation == Operation::import_files) {
        protocol::ImportReply reply;
        reply.files.resize(number);
        return protocol::encode(reply);
    }
    protocol::JobKillReply reply;
    reply.signalled = static_cast<std::uint32_t>(number);
    return protocol::encode(reply);
}

/// A guest that numbers what it does, on the loop, or a moment later on a worker's thread.
struct Counting {
    std::atomic<std::uint64_t> done = 0;
    std::atomic<bool> later = false;
    test::GuestServer server{
        [this](const std::shared_ptr<guest::Call>& call, const protocol::Frame& request) {
            const auto operation = static_cast<Operation>(request.operation);
            const auto answer = [this, call, operation] {
                call->reply(numbered_reply(operation, ++done));
            };
            if (operation == Operation::import_files) {
                call->accept_data();
                server.workers().run([call, answer] { take(*call, answer); });
            } else if (later) {
                server.workers().run(answer);
            } else {
                answer();
            }
        }};

    static void take(guest::Call& call, const std::function<void()>& answer)
    {
        try {
            while (!call.receive_data().empty()) {
            }
            answer();
        } catch (...) {
            call.fail(std::current_exception());
        }
    }

    /// With a server whose connections that carry calls are cut so.
    std::pair<std::unique_ptr<Sandbox>, CuttingMachine*> host(std::vector<Cut> cuts,
                                                              bool kept = true)
    {
        sandbox::MachineRecord record;
        record.generation = "g1";
        auto machine =
            std::make_unique<CuttingMachine>([this] { return server.connect(); }, std::move(record),
                                             std::move(cuts), kept ? 1 : 0, reach_of(kept));
        auto* const seen = machine.get();
        auto sandbox = std::make_unique<Sandbox>(std::move(machine), "secret");
        sandbox->attend();
        return {std::move(sandbox), seen};
    }
};

/// Every place where the connection of such a call can break.
std::vector<Cut> places(Counting& guest, const Asking& ask, bool kept)
{
    auto [sandbox, machine] = guest.host({}, kept);
    (void)ask(*sandbox);
    std::vector<Cut> cuts;
    for (std::size_t i = 0; i <= machine->request_bytes(); ++i) {
        cuts.push_back({.of_reply = false, .bytes = i});
    }
    for (std::size_t i = 0; i <= machine->reply_bytes(); ++i) {
        cuts.push_back({.of_reply = true, .bytes = i});
    }
    return cuts;
}

/// A guest that says what it has said, and is then asked nothing more.
class Scripted {
  public:
    /// `most`: connections; then it is gone.
    explicit Scripted(bool repeats, std::size_t most = 100) : repeats_(repeats), most_(most) {}

    [[nodiscard]] std::unique_ptr<Sandbox> sandbox()
    {
        return std::make_unique<Sandbox>(
            std::make_unique<test::FakeMachine>([this] { return connect(); }), "secret");
    }

    [[nodiscard]] int requests() const { return requests_; }

    [[nodiscard]] int connections() const { return static_cast<int>(threads_.size()); }

  private:
    /// Takes the request, and ends the connection.
    UniqueFd connect()
    {
        if (threads_.size() == most_) {
            throw Error(ErrorCode::session_lost, "refused");
        }
        int pair[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        threads_.emplace_back([this, fd = pair[1]] {
            test::Peer guest{UniqueFd(fd)};
            (void)guest.receive();
            guest.send(protocol::FrameType::hello_reply,
                       protocol::encode(protocol::HelloReply{.version = 1,
                                                             .build = "x",
                                                             .generation = "g1",
                                                             .pid = 1,
                                                             .repeats = repeats_}));
            requests_ += guest.receive() ? 1 : 0;
        });
        return UniqueFd(pair[0]);
    }

    const bool repeats_;
    const std::size_t most_;
    std::atomic<int> requests_ = 0;
    std::vector<std::jthread> threads_;
};

} // namespace

TEST_SUITE("sandbox/broken_connection")
{
    TEST_CASE("cut at any byte of request and reply, each call is done once and answered")
    {
        for (const bool kept : kept_or_not) {
            CAPTURE(kept);
            for (const auto& call : named_calls()) {
                CAPTURE(call.words);
                Counting guest;
                for (const auto& cut : places(guest, call.ask, kept)) {
                    CAPTURE(cut.of_reply);
                    CAPTURE(cut.bytes);
                    guest.done = 0;
                    guest.later = cut.bytes % 2 == 1;
                    auto [sandbox, machine] = guest.host({cut}, kept);
                    CHECK(call.ask(*sandbox) == 1);
                    CHECK(guest.done == 1);
                }
            }
        }
    }

    TEST_CASE("cut again and again, up to the third repetition")
    {
        Counting guest;
        const auto& ask = named_calls().front().ask;
        const Cut whole{.of_reply = true, .bytes = 3};
        {
            auto [sandbox, machine] = guest.host({whole, whole, whole});
            CHECK(ask(*sandbox) == 1);
            CHECK(guest.done == 1);
        }
        auto [sandbox, machine] = guest.host({whole, whole, whole, whole});
        CHECK(error_of([&, &host = *sandbox] { (void)ask(host); }) == ErrorCode::session_lost);
        CHECK(guest.done == 2);
    }

    TEST_CASE("an import is done once, or not at all, and which of both is said")
    {
        Counting guest;
        const Asking ask = [](Sandbox& sandbox) {
            int pieces = 2;
            return static_cast<std::uint64_t>(
                sandbox
                    .import_files(
                        {}, [&] { return pieces-- > 0 ? std::string("abcde") : std::string(); }, {})
                    .files.size());
        };
        for (const bool kept : kept_or_not) {
            CAPTURE(kept);
            int answered = 0;
            for (const auto& cut : places(guest, ask, kept)) {
                CAPTURE(cut.of_reply);
                CAPTURE(cut.bytes);
                guest.done = 0;
                auto [sandbox, machine] = guest.host({cut}, kept);
                try {
                    const auto answer = ask(*sandbox);
                    CHECK(answer == 1);
                    CHECK(guest.done == 1);
                    ++answered;
                } catch (const Error& error) {
                    CHECK(error.code() == ErrorCode::backend_error);
                    CHECK(guest.done == 0);
                    CHECK_FALSE(cut.of_reply);
                }
            }
            CHECK(answered > 10);
        }
    }

    TEST_CASE("a guest that knows no names is never asked again")
    {
        Scripted old(/*repeats=*/false);
        const auto sandbox = old.sandbox();
        CHECK(error_of([&] { (void)sandbox->write_file({}, {}); }) == ErrorCode::session_lost);
        CHECK(old.requests() == 1);
        CHECK(old.connections() == 1);
    }

    TEST_CASE("a call that only reads is not repeated, one that changes something three times")
    {
        Scripted guest(/*repeats=*/true);
        const auto sandbox = guest.sandbox();
        CHECK(error_of([&] { (void)sandbox->read_file({}, {}); }) == ErrorCode::session_lost);
        CHECK(guest.connections() == 1);
        CHECK(error_of([&] { (void)sandbox->write_file({}, {}); }) == ErrorCode::session_lost);
        CHECK(guest.connections() == 5);
    }

    TEST_CASE("a guest that is gone is not waited for")
    {
        Scripted guest(/*repeats=*/true, /*most=*/1);
        const auto sandbox = guest.sandbox();
        CHECK(error_of([&] { (void)sandbox->write_file({}, {}); }) == ErrorCode::session_lost);
        CHECK(guest.requests() == 1);
    }
}
