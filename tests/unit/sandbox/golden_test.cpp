// Release 0.1 before calls had names meets this one: its server our guest, its guest our server.

#include "sandbox/direct/direct_backend.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"
#include "tests/unit/sandbox/golden_transcript.hpp"
#include "tests/unit/sandbox/programs.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <regex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

using namespace berth;
using protocol::FrameType;
using sandbox::Receipt;
using sandbox::Sandbox;
using test::golden_transcript;
using test::GoldenFrame;
using test::missing_of;

namespace {

constexpr const char* generation = "00112233445566778899aabbccddeeff";

/// Our guest, which an earlier server speaks to.
struct Machine {
    Machine()
    {
        sandbox::MachineSpec spec;
        spec.key_hash = std::string(64, 'c');
        spec.session = "golden";
        spec.generation = generation;
        spec.token = std::string(64, '7');
        machine = backend->create(spec);
    }

    ~Machine() { backend->destroy(machine->record(), true); }

    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    tests::TemporaryDirectory state;
    std::unique_ptr<sandbox::Backend> backend =
        direct::make_backend(BERTH_GUEST_PROGRAM, state.path());
    std::unique_ptr<sandbox::Machine> machine;
};

protocol::Frame next_frame(sandbox::Channel& channel, protocol::FrameReader& reader)
{
    const auto deadline = Deadline::after(std::chrono::seconds(20));
    for (;;) {
        if (auto frame = reader.next()) {
            return *frame;
        }
        std::string buffer(4096, '\0');
        const auto size = channel.receive(buffer.data(), buffer.size(), deadline);
        REQUIRE(size > 0);
        reader.feed({buffer.data(), size});
    }
}

std::string job_in(const std::string& payload)
{
    static const std::regex job("job-[0-9]-[0-9a-f]{4}");
    std::smatch found;
    return std::regex_search(payload, found, job) ? found.str() : std::string();
}

/// Sends what that server sent, and compares what comes.
void replay(sandbox::Machine& machine, const std::string& name)
{
    CAPTURE(name);
    const auto channel = machine.connect(Deadline::after(std::chrono::seconds(10)));
    protocol::FrameReader reader(protocol::max_payload_size);
    std::string job_then;
    std::string job_now;
    for (const auto& golden : golden_transcript(name)) {
        if (golden.by_host) {
            auto bytes = golden.bytes;
            if (const auto at = bytes.find(job_then); !job_then.empty() && at != bytes.npos) {
                bytes.replace(at, job_then.size(), job_now);
            }
            channel->send(bytes);
            continue;
        }
        auto frame = next_frame(*channel, reader);
        while (frame.type == FrameType::event && golden.frame.type != FrameType::event) {
            frame = next_frame(*channel, reader); // one more or less is a question of time
        }
        REQUIRE(frame.type == golden.frame.type);
        if (frame.type == FrameType::data) {
            CHECK(frame.payload == golden.frame.payload);
            CHECK(frame.flags == golden.frame.flags);
        } else {
            CHECK(missing_of(golden.frame.payload, frame.payload, golden.differs) == "");
        }
        job_then = job_in(golden.frame.payload);
        job_now = job_in(frame.payload);
    }
}

/// A guest of that release: says what it said, whenever the host has said what it waited for.
class OldGuest {
  public:
    explicit OldGuest(const std::string& name) : frames_(golden_transcript(name))
    {
        int pair[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        host_.reset(pair[0]);
        thread_ = std::jthread([this, fd = pair[1]] { run(test::Peer{UniqueFd(fd)}); });
    }

    [[nodiscard]] std::unique_ptr<Sandbox> sandbox()
    {
        return std::make_unique<Sandbox>(
            std::make_unique<test::FakeMachine>([this] { return std::move(host_); }, generation),
            std::string(64, '7'));
    }

    /// Frames of the host that have come.
    [[nodiscard]] int heard() const { return heard_; }

    /// What it could not have understood; once the host has said all.
    std::vector<std::string> complaints()
    {
        thread_.join();
        return complaints_;
    }

  private:
    void run(test::Peer peer)
    {
        for (const auto& golden : frames_) {
            if (!golden.by_host) {
                peer.send_bytes(golden.bytes);
                continue;
            }
            const auto frame = peer.receive();
            ++heard_;
            if (!frame) {
                complaints_.emplace_back("the host left");
                return;
            }
            complain(golden.frame, *frame);
        }
    }

    void complain(const protocol::Frame& then, const protocol::Frame& now)
    {
        if (then.type != now.type || then.operation != now.operation || then.flags != now.flags) {
            complaints_.emplace_back("another frame");
        } else if (then.type == FrameType::data && then.payload != now.payload) {
            complaints_.emplace_back("other data");
        } else if (then.type == FrameType::hello || then.type == FrameType::request) {
            const bool hello = then.type == FrameType::hello;
            const auto missing =
                missing_of(then.payload, now.payload,
                           hello ? std::vector<std::string>{"1", "2", "3", "4", "5"}
                                 : std::vector<std::string>{});
            if (!missing.empty()) {
                complaints_.push_back(missing);
            }
        }
    }

    const std::vector<GoldenFrame> frames_;
    UniqueFd host_;
    std::atomic<int> heard_ = 0;
    std::vector<std::string> complaints_; ///< read after the thread's end
    std::jthread thread_;
};

protocol::ExecuteRequest command(char id, const char* text)
{
    protocol::ExecuteRequest request;
    request.id = std::string(32, id);
    request.command = text;
    request.timeout = 20'000;
    request.head_limit = 18'000;
    request.tail_limit = 12'000;
    request.spill_above = 30'000;
    request.job_lifetime = 7'200'000;
    request.acknowledge = true;
    return request;
}

const std::vector<std::string> none;

} // namespace

TEST_SUITE("sandbox/golden")
{
    TEST_CASE("an earlier server is answered as its own guest answered it")
    {
        Machine machine;
        for (const char* name :
             {"attend", "info", "write-file", "edit-file", "error", "export", "import", "execute",
              "cancel", "job-output", "refused-token", "refused-generation", "refused-version"}) {
            replay(*machine.machine, name);
        }
        // What it called out of its home, it left nothing behind that would be told.
        Sandbox sandbox(machine.backend->attach(machine.machine->record()), std::string(64, '7'));
        for (const auto& job : sandbox.info().ended) {
            CHECK_FALSE(job.unseen);
        }
        REQUIRE(tests::becomes_true([&] { return sandbox.info().pause->clients <= 1; }));
    }

    TEST_CASE("an earlier server ends a machine of ours that nobody uses")
    {
        Machine machine;
        replay(*machine.machine, "retire");
    }

    TEST_CASE("an earlier guest is understood: info, files, an error")
    {
        {
            OldGuest guest("info");
            protocol::InfoRequest claim;
            claim.claim_unseen = true;
            const auto info = guest.sandbox()->info({}, claim);
            CHECK(info.build == "0.1.0");
            CHECK(info.home.ends_with("/home"));
            CHECK(guest.complaints() == none);
        }
        {
            OldGuest guest("write-file");
            protocol::WriteFileRequest request;
            request.path = "notes.txt";
            request.content = "first line\nsecond line\n";
            CHECK(guest.sandbox()->write_file(request, {}).size == 23);
            CHECK(guest.complaints() == none);
        }
        {
            OldGuest guest("edit-file");
            protocol::EditFileRequest request;
            request.path = "notes.txt";
            request.edits.push_back({.old_text = "second", .new_text = "last"});
            request.max_size = 1U << 20U;
            request.diff_budget = 1000;
            CHECK(guest.sandbox()->edit_file(request, {}).replacements == 1);
            CHECK(guest.complaints() == none);
        }
        {
            OldGuest guest("error");
            protocol::ReadFileRequest request;
            request.path = "missing.txt";
            request.limit = 10;
            request.budget = 1000;
            const auto sandbox = guest.sandbox();
            CHECK(tests::error_of([&] { (void)sandbox->read_file(request, {}); }) ==
                  ErrorCode::not_found);
            CHECK(guest.complaints() == none);
        }
    }

    TEST_CASE("an earlier guest is understood: data both ways")
    {
        std::string data;
        {
            OldGuest guest("export");
            protocol::ExportRequest request;
            request.path = "notes.txt";
            request.max_bytes = 1U << 20U;
            request.max_entries = 10;
            const auto reply = guest.sandbox()->export_files(
                request, [&](std::string_view piece) { data += piece; }, {});
            CHECK(reply.bytes == 21);
            CHECK(data.ends_with("first line\nlast line\n"));
            CHECK(guest.complaints() == none);
        }
        OldGuest guest("import");
        protocol::ImportRequest request;
        request.path = "copy.txt";
        request.single = true;
        const auto reply =
            guest.sandbox()->import_files(request, [&] { return std::exchange(data, {}); }, {});
        REQUIRE(reply.files.size() == 1);
        CHECK(reply.files.front().size == 21);
        CHECK(guest.complaints() == none);
    }

    TEST_CASE("an earlier guest is understood: a command, its events and what comes behind it")
    {
        OldGuest guest("execute");
        auto request = command('1', "echo one; sleep 1.5; echo two >&2; exit 3");
        request.progress = 500;
        std::string printed;
        Receipt receipt;
        const auto sandbox = guest.sandbox();
        const auto reply = sandbox->execute(
            request, {}, [&](const protocol::PrintedTail& tail) { printed += tail.text; },
            &receipt);
        CHECK(reply.exit_code == 3);
        CHECK(reply.out.head == "one\n");
        CHECK(reply.err.head == "two\n");
        CHECK(printed == "one\n");
        receipt.acknowledge();
        sandbox->ping();
        CHECK(guest.complaints() == none);
    }

    TEST_CASE("an earlier guest is understood: a cancel, and a result that is declined")
    {
        OldGuest guest("cancel");
        std::stop_source stop;
        const std::jthread canceller([&] {
            (void)tests::becomes_true([&] { return guest.heard() == 2; });
            stop.request_stop();
        });
        Receipt receipt;
        const auto sandbox = guest.sandbox();
        const auto reply =
            sandbox->execute(command('2', "echo begun; sleep 60"), stop.get_token(), {}, &receipt);
        CHECK(reply.fate == protocol::Fate::cancelled);
        receipt.decline();
        sandbox->ping();
        CHECK(guest.complaints() == none);
    }

    TEST_CASE("an earlier guest is understood: a job")
    {
        OldGuest guest("job-output");
        auto request = command('3', "echo from the job; sleep 60");
        request.background = true;
        request.timeout = 60'000;
        Receipt receipt;
        const auto sandbox = guest.sandbox();
        const auto job = sandbox->execute(request, {}, {}, &receipt);
        receipt.acknowledge();
        protocol::JobOutputRequest output;
        output.job_id = job.job_id;
        output.wait = 10'000;
        output.head_limit = 18'000;
        output.tail_limit = 12'000;
        CHECK(sandbox->job_output(output, {}).out.text.head == "from the job\n");
        protocol::JobKillRequest kill;
        kill.job_id = job.job_id;
        kill.signal = 15;
        kill.grace = 2000;
        CHECK_FALSE(sandbox->job_kill(kill, {}).state.running);
        CHECK(guest.complaints() == none);
    }

    TEST_CASE("an earlier guest is understood: what it refuses, and its end")
    {
        for (const auto& [name, code] :
             {std::pair{"refused-token", ErrorCode::authentication_required},
              std::pair{"refused-generation", ErrorCode::session_lost}}) {
            OldGuest guest(name);
            const auto sandbox = guest.sandbox();
            CHECK(tests::error_of([&] { sandbox->ping(); }) == code);
            CHECK(guest.complaints() == none);
        }
        {
            OldGuest guest("refused-version");
            const auto sandbox = guest.sandbox();
            try {
                sandbox->ping();
                FAIL("it was answered");
            } catch (const sandbox::OtherVersion& error) {
                CHECK(std::string(error.what()) ==
                      "the guest (0.1.0) speaks protocol 1, the server (0.9.0) 2 to 3");
            }
            CHECK(guest.complaints() == none);
        }
        OldGuest guest("retire");
        CHECK(guest.sandbox()->retire());
        CHECK(guest.complaints() == none);
    }
}
