// A connection that breaks at any byte of a call: what changes something is done once, and its
// answer comes.

#include "sandbox/base/random.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/direct/direct_backend.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/sandbox/cutting_machine.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"
#include "tests/unit/sandbox/programs.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
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
using tests::becomes_true;
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

    /// With a server whose connections behind the first, which stays, are cut so.
    std::pair<std::unique_ptr<Sandbox>, CuttingMachine*> host(std::vector<Cut> cuts)
    {
        sandbox::MachineRecord record;
        record.generation = "g1";
        auto machine = std::make_unique<CuttingMachine>([this] { return server.connect(); },
                                                        std::move(record), std::move(cuts), 1);
        auto* const seen = machine.get();
        auto sandbox = std::make_unique<Sandbox>(std::move(machine), "secret");
        sandbox->attend();
        return {std::move(sandbox), seen};
    }
};

/// Every place where the connection of such a call can break.
std::vector<Cut> places(Counting& guest, const Asking& ask)
{
    auto [sandbox, machine] = guest.host({});
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

/// The real guest behind a relay.
struct Real {
    Real()
    {
        sandbox::MachineSpec spec;
        spec.key_hash = random_hex(32);
        spec.session = "test";
        spec.generation = random_hex(16);
        spec.token = random_hex(32);
        token = spec.token;
        auto machine = backend->create(spec);
        record = machine->record();
        plain = std::make_unique<Sandbox>(std::move(machine), token);
    }

    ~Real()
    {
        plain.reset();
        backend->destroy(record, true);
    }

    Real(const Real&) = delete;
    Real& operator=(const Real&) = delete;

    [[nodiscard]] std::unique_ptr<Sandbox> cut_at(const Cut& cut) const
    {
        auto sandbox = std::make_unique<Sandbox>(
            std::make_unique<CuttingMachine>(
                [socket = record.data.at("socket")] {
                    return connect_unix(socket, Deadline::after(std::chrono::seconds(10)));
                },
                record, std::vector{cut}, 1),
            token);
        sandbox->attend();
        return sandbox;
    }

    [[nodiscard]] std::string text_of(const std::string& path) const
    {
        protocol::ReadFileRequest request;
        request.path = path;
        request.limit = 1000;
        request.budget = 100'000;
        return plain->read_file(request, {}).content;
    }

    [[nodiscard]] std::size_t unseen() const
    {
        std::size_t count = 0;
        const auto info = plain->info();
        for (const auto* jobs : {&info.jobs, &info.ended}) {
            for (const auto& job : *jobs) {
                count += job.unseen ? 1 : 0;
            }
        }
        return count;
    }

    tests::TemporaryDirectory state;
    std::unique_ptr<sandbox::Backend> backend =
        direct::make_backend(BERTH_GUEST_PROGRAM, state.path());
    std::string token;
    sandbox::MachineRecord record;
    std::unique_ptr<Sandbox> plain;
};

/// Some of them: the real guest takes its time.
const std::vector<Cut> some_places{{false, 0}, {false, 8}, {false, 60}, {false, 150},
                                   {true, 0},  {true, 1},  {true, 8},   {true, 20}};

protocol::ExecuteRequest command(const std::string& text)
{
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = text;
    request.timeout = 20'000;
    request.head_limit = request.tail_limit = 20'000;
    request.spill_above = 20'000;
    request.acknowledge = true;
    return request;
}

} // namespace

TEST_SUITE("sandbox/broken_connection")
{
    TEST_CASE("cut at any byte of request and reply, each call is done once and answered")
    {
        for (const auto& call : named_calls()) {
            CAPTURE(call.words);
            Counting guest;
            for (const auto& cut : places(guest, call.ask)) {
                CAPTURE(cut.of_reply);
                CAPTURE(cut.bytes);
                guest.done = 0;
                guest.later = cut.bytes % 2 == 1;
                auto [sandbox, machine] = guest.host({cut});
                CHECK(call.ask(*sandbox) == 1);
                CHECK(guest.done == 1);
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
        int answered = 0;
        for (const auto& cut : places(guest, ask)) {
            CAPTURE(cut.of_reply);
            CAPTURE(cut.bytes);
            guest.done = 0;
            auto [sandbox, machine] = guest.host({cut});
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

    TEST_CASE("the real guest: a command runs once, is answered, and is not told as unseen")
    {
        Real real;
        for (std::size_t i = 0; i < some_places.size(); ++i) {
            CAPTURE(i);
            const auto sandbox = real.cut_at(some_places[i]);
            sandbox::Receipt receipt;
            const auto reply =
                sandbox->execute(command("echo x >>log; echo out; " +
                                         std::string(i % 2 == 0 ? "" : "sleep 0.1; ") + "exit 3"),
                                 {}, {}, &receipt);
            CHECK(reply.exit_code == 3);
            CHECK(reply.out.head == "out\n");
            CHECK(static_cast<bool>(receipt));
            receipt.acknowledge();
            CHECK(real.unseen() == 0);
            std::string lines;
            for (std::size_t line = 0; line <= i; ++line) {
                lines += "x\n";
            }
            CHECK(real.text_of("log") == lines);
        }
        for (const auto& job : real.plain->info().ended) {
            FAIL_CHECK("a job was left: " << job.job_id << " " << job.command);
        }
    }

    TEST_CASE("the real guest: files and jobs are changed once")
    {
        Real real;
        auto job = command("cat >fed; sleep 300");
        job.background = true;
        job.stdin_open = true;
        const auto job_id = real.plain->execute(job, {}).job_id;
        std::string expected;
        for (std::size_t i = 0; i < some_places.size(); ++i) {
            CAPTURE(i);
            const auto piece = std::to_string(i) + "\n";
            expected += piece;
            protocol::WriteFileRequest write;
            write.path = "appended";
            write.content = piece;
            write.mode = protocol::WriteMode::append;
            CHECK(real.cut_at(some_places[i])->write_file(write, {}).bytes == 2);
            CHECK(real.text_of("appended") == expected);

            protocol::EditFileRequest edit;
            edit.path = "edited" + std::to_string(i);
            edit.edits.push_back({.old_text = "", .new_text = "new"}); // refused if it is there
            edit.max_size = edit.diff_budget = 1000;
            CHECK(real.cut_at(some_places[i])->edit_file(edit, {}).created);

            protocol::PatchFilesRequest patch;
            patch.patch = "*** Begin Patch\n*** Add File: patched" + std::to_string(i) +
                          "\n+x\n*** End Patch\n";
            patch.max_size = patch.diff_budget = 1000;
            CHECK(real.cut_at(some_places[i])->patch_files(patch, {}).files.size() == 1);

            protocol::JobInputRequest input;
            input.job_id = job_id;
            input.input = piece;
            CHECK(real.cut_at(some_places[i])->job_input(input, {}).taken == 2);
        }
        CHECK(becomes_true([&] { return real.text_of("fed") == expected; }));
        protocol::JobKillRequest kill;
        kill.job_id = job_id;
        kill.signal = SIGKILL;
        const auto ended = real.cut_at({.of_reply = true, .bytes = 5})->job_kill(kill, {});
        CHECK(ended.signalled > 0); // a second one would have found nothing
        CHECK_FALSE(ended.state.running);
    }

    TEST_CASE("the real guest: a cancel reaches a command whose connection broke")
    {
        Real real;
        const auto sandbox = real.cut_at({.of_reply = true, .bytes = 0}); // at the first event
        std::stop_source stop;
        const std::jthread canceller([&] {
            (void)becomes_true([&] { return real.plain->info().calls == 1; });
            stop.request_stop();
        });
        auto request = command("echo x; sleep 300");
        request.progress = 20;
        const auto reply = sandbox->execute(request, stop.get_token());
        CHECK(reply.fate == protocol::Fate::cancelled);
    }

    TEST_CASE("the real guest: a command that nobody comes back for is an unseen job")
    {
        Real real;
        auto server = real.cut_at({.of_reply = true, .bytes = 100'000});
        std::stop_source stop;
        std::jthread caller([&] {
            try {
                (void)server->execute(command("sleep 0.3; exit 4"), stop.get_token());
            } catch (const Error&) {
                return; // it left
            }
        });
        REQUIRE(becomes_true([&] { return real.plain->info().calls == 1; }));
        server->leave_commands();
        stop.request_stop();
        caller.join();
        server.reset();
        CHECK(becomes_true([&] { return real.unseen() == 1; }));
    }
}
