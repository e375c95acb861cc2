#include "sandbox/base/random.hpp"
#include "sandbox/direct/direct_backend.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/sandbox/programs.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace std::chrono_literals;
using berth::ErrorCode;
using berth::sandbox::MachineSpec;
using berth::sandbox::Sandbox;
using berth::tests::error_of;

// The real guest, over the real socket.

namespace {

MachineSpec spec()
{
    MachineSpec spec;
    spec.key_hash = berth::random_hex(32);
    spec.session = "test";
    spec.generation = berth::random_hex(16);
    spec.token = berth::random_hex(32);
    return spec;
}

/// A machine that is gone at the end of the test.
struct Direct {
    explicit Direct(MachineSpec wanted = spec()) : machine_spec(std::move(wanted))
    {
        auto machine = backend->create(machine_spec);
        record = machine->record();
        sandbox.emplace(std::move(machine), machine_spec.token);
    }

    ~Direct()
    {
        sandbox.reset();
        backend->destroy(record, true);
    }

    Direct(const Direct&) = delete;
    Direct& operator=(const Direct&) = delete;

    [[nodiscard]] pid_t pid() const { return std::stoi(record.data.at("pid")); }

    [[nodiscard]] std::string proc(const std::string& name) const
    {
        return "/proc/" + record.data.at("pid") + "/" + name;
    }

    /// The guest's process has ended (a zombie has no more descriptors).
    [[nodiscard]] bool ended() const
    {
        for (int i = 0; i < 1000; ++i) {
            std::ifstream stat(proc("stat"));
            std::string text;
            std::getline(stat, text);
            const auto name_end = text.rfind(") ");
            if (name_end == std::string::npos || text[name_end + 2] == 'Z') {
                return true;
            }
            std::this_thread::sleep_for(5ms);
        }
        return false;
    }

    berth::tests::TemporaryDirectory state;
    std::unique_ptr<berth::sandbox::Backend> backend =
        berth::direct::make_backend(BERTH_GUEST_PROGRAM, state.path());
    MachineSpec machine_spec;
    berth::sandbox::MachineRecord record;
    std::optional<Sandbox> sandbox;
};

berth::protocol::ExecuteRequest command(const std::string& text)
{
    berth::protocol::ExecuteRequest request;
    request.id = berth::random_hex(16);
    request.command = text;
    request.timeout = 20'000;
    request.head_limit = 10'000;
    request.tail_limit = 10'000;
    return request;
}

std::string line_of(const std::string& file, const std::string& name)
{
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (line.rfind(name, 0) == 0) {
            return line;
        }
    }
    return {};
}

} // namespace

TEST_CASE("direct: whoever has just made a call can retire the machine")
{
    for (int round = 0; round < 10; ++round) {
        Direct direct;
        CHECK(direct.sandbox->execute(command("true"), {}).exit_code == 0);
        CHECK(direct.sandbox->retire());
        CHECK(direct.ended());
    }
}

TEST_CASE("direct: ping, info, execute, write and read")
{
    Direct direct;
    auto& sandbox = *direct.sandbox;
    sandbox.ping();
    const auto reply = sandbox.execute(command("echo out; echo err >&2; exit 3"), {});
    CHECK(reply.exit_code == 3);
    CHECK(reply.out.head == "out\n");
    CHECK(reply.err.head == "err\n");
    berth::protocol::WriteFileRequest write;
    write.path = "a.txt";
    write.content = "hello\n";
    CHECK(sandbox.write_file(write, {}).created);
    berth::protocol::ReadFileRequest read;
    read.path = "a.txt";
    read.limit = 10;
    read.budget = 1000;
    CHECK(sandbox.read_file(read, {}).content == "hello\n");
    berth::protocol::EditFileRequest edit;
    edit.path = "a.txt";
    edit.edits = {{.old_text = "hello", .new_text = "goodbye", .replace_all = false}};
    edit.max_size = 1'000'000;
    edit.diff_budget = 1000;
    CHECK(sandbox.edit_file(edit, {}).replacements == 1);
    berth::protocol::GlobRequest glob;
    glob.pattern = "*.txt";
    glob.limit = 10;
    glob.time_limit = 5000;
    CHECK(sandbox.glob(glob, {}).paths.size() == 1);
    berth::protocol::GrepRequest grep;
    grep.pattern = "good";
    grep.limit = 10;
    grep.line_limit = 100;
    grep.budget = 1000;
    grep.time_limit = 5000;
    CHECK(sandbox.grep(grep, {}).total_matches == 1);
    read.path = "b.txt";
    CHECK(error_of([&] { (void)sandbox.read_file(read, {}); }) == ErrorCode::not_found);
    const auto info = sandbox.info();
    CHECK(info.home == direct.record.data.at("folder") + "/home");
    CHECK(info.cwd == info.home);
    CHECK(info.connections == 1);
    CHECK(info.calls == 0);
}

TEST_CASE("direct: files go out as a stream and come in again elsewhere")
{
    Direct direct;
    auto& sandbox = *direct.sandbox;
    const auto made = sandbox.execute(
        command("mkdir -p d/e; head -c 3000000 /dev/urandom >d/large; echo x >d/e/small"), {});
    REQUIRE(made.exit_code == 0);
    std::string stream;
    const auto out =
        sandbox.export_files({.path = "d", .max_bytes = 10'000'000, .max_entries = 100},
                             [&](std::string_view piece) { stream += piece; }, {});
    CHECK(out.files == 2);
    CHECK(out.bytes == 3'000'002);
    std::size_t sent = 0;
    const auto next = [&] {
        auto piece = stream.substr(sent, 100'000);
        sent += piece.size();
        return piece;
    };
    const auto in =
        sandbox.import_files({.path = "copy", .single = false, .overwrite = true}, next, {});
    CHECK(in.files.size() == 2);
    CHECK(sandbox.execute(command("diff -r d copy"), {}).exit_code == 0);
}

TEST_CASE("direct: a command is cancelled, and its output until then comes back")
{
    Direct direct;
    std::stop_source stop;
    std::jthread stopper([&] {
        std::this_thread::sleep_for(3s);
        stop.request_stop();
    });
    const auto reply =
        direct.sandbox->execute(command("echo begun; sleep 30; echo never"), stop.get_token());
    CHECK(reply.fate == berth::protocol::Fate::cancelled);
    CHECK(reply.out.head == "begun\n");
    CHECK(reply.survivors == 0);
    CHECK(direct.sandbox->execute(command("echo on"), {}).out.head == "on\n");
}

TEST_CASE("direct: commands see nothing of the guest's")
{
    Direct direct;
    const auto reply = direct.sandbox->execute(
        command("env | cut -d= -f1 | sort | tr '\\n' ' '; ls /proc/self/fd | tr '\\n' ' '"), {});
    CHECK(reply.out.head.find("BERTH") == std::string::npos);
    CHECK(reply.out.head.find("HOME ") != std::string::npos);
    CHECK(reply.out.head.find(" 0 1 2 3 ") != std::string::npos); // 3 is that of ls
    CHECK(reply.out.head.find(" 4") == std::string::npos);
    CHECK(line_of(direct.proc("status"), "NoNewPrivs") == "NoNewPrivs:\t1");
    CHECK(line_of(direct.proc("status"), "SigBlk").find("SigBlk:\tfffffffe") == 0);
}

TEST_CASE("direct: no signal of a command reaches the guest")
{
    Direct direct;
    const auto pid = std::to_string(direct.pid());
    for (const char* const name : {"TERM", "INT", "HUP", "USR1", "PIPE", "ALRM", "CHLD", "SEGV"}) {
        CHECK(direct.sandbox->execute(command("kill -" + std::string(name) + " " + pid), {})
                  .exit_code == 0);
    }
    direct.sandbox->ping();
    CHECK(direct.sandbox->execute(command("echo on"), {}).out.head == "on\n");
}

TEST_CASE("direct: an idle guest is small")
{
    Direct direct;
    auto& sandbox = *direct.sandbox;
    for (int i = 0; i < 20; ++i) {
        (void)sandbox.execute(command("head -c 3000000 /dev/zero | tr '\\0' x"), {});
    }
    berth::protocol::WriteFileRequest write;
    write.path = "large";
    write.content.assign(8'000'000, 'x');
    (void)sandbox.write_file(write, {});
    // The thread that wrote ends when it has been idle, and then gives memory back.
    std::string rss;
    unsigned long anonymous = 0;
    for (int i = 0; i < 100; ++i) {
        rss = line_of(direct.proc("status"), "RssAnon");
        anonymous = std::stoul(rss.substr(rss.find_first_of("0123456789")));
        if (anonymous < 4096 && line_of(direct.proc("status"), "Threads") == "Threads:\t1") {
            break;
        }
        std::this_thread::sleep_for(50ms);
    }
    CHECK_MESSAGE(anonymous < 4096, rss);
    CHECK(line_of(direct.proc("status"), "Threads") == "Threads:\t1");
}

TEST_CASE("direct: a guest that is killed during a call means session_lost")
{
    Direct direct;
    std::jthread killer([&] {
        std::this_thread::sleep_for(300ms);
        ::kill(direct.pid(), SIGKILL);
    });
    CHECK(error_of([&] { (void)direct.sandbox->execute(command("sleep 5"), {}); }) ==
          ErrorCode::session_lost);
    CHECK(error_of([&] { direct.sandbox->ping(); }) == ErrorCode::session_lost);
    CHECK_THROWS_AS(direct.sandbox->ping(), berth::sandbox::Unsent);
    CHECK(direct.backend->attach(direct.record) == nullptr);
}

TEST_CASE("direct: another server attaches, with the right token only")
{
    Direct direct;
    direct.sandbox->ping();
    const auto other = berth::direct::make_backend(BERTH_GUEST_PROGRAM, direct.state.path());
    auto machine = other->attach(direct.record);
    REQUIRE(machine != nullptr);
    Sandbox second(std::move(machine), direct.machine_spec.token);
    CHECK(second.info().connections == 2);
    Sandbox thief(other->attach(direct.record), "");
    CHECK(error_of([&] { thief.ping(); }) == ErrorCode::authentication_required);
}

TEST_CASE("direct: the guest ends when it shall")
{
    SUBCASE("told to")
    {
        Direct direct;
        direct.sandbox->shutdown();
        CHECK(direct.ended());
        CHECK(error_of([&] { direct.sandbox->ping(); }) == ErrorCode::session_lost);
    }
    SUBCASE("by SIGTERM of its parent")
    {
        Direct direct;
        ::kill(direct.pid(), SIGTERM);
        CHECK(direct.ended());
    }
    SUBCASE("after a time without use")
    {
        auto wanted = spec();
        wanted.idle_end = 2s; // long enough for the first call on a busy machine
        Direct direct(wanted);
        direct.sandbox->attend();
        std::this_thread::sleep_for(2500ms);
        direct.sandbox->ping(); // somebody was there
        direct.sandbox.reset();
        CHECK(direct.ended());
    }
    SUBCASE("with its server")
    {
        auto wanted = spec();
        wanted.ends_with_server = true;
        Direct direct(wanted);
        direct.sandbox->ping();
        direct.backend = berth::direct::make_backend(BERTH_GUEST_PROGRAM, direct.state.path());
        CHECK(direct.ended());
    }
}

TEST_CASE("direct: a guest of which no record was written ends with what is left of its machine")
{
    Direct direct;
    Direct other; // of the same server
    const auto running =
        direct.sandbox->execute(command("sleep 1000 >/dev/null 2>&1 & echo $!"), {});
    const pid_t left = std::stoi(running.out.head);
    REQUIRE(::kill(left, 0) == 0);
    // As by a server that was killed when it had started the guest, for whoever clears up.
    const auto later = berth::direct::make_backend(BERTH_GUEST_PROGRAM, direct.state.path());
    const berth::sandbox::MachineRecord interrupted{
        .backend = "direct", .data = {{"key_hash", direct.machine_spec.key_hash}}};
    CHECK_FALSE(later->is_gone(interrupted));
    later->destroy(interrupted, false);
    CHECK(direct.ended());
    CHECK(later->is_gone(interrupted));
    CHECK(berth::tests::becomes_true([&] { return ::kill(left, 0) != 0; }));
    CHECK(std::filesystem::exists(direct.record.data.at("folder") + "/home"));
    other.sandbox->ping();
}

TEST_CASE("direct: what a command prints is told to who asks for it")
{
    Direct direct;
    auto& sandbox = *direct.sandbox;
    std::vector<std::string> told;
    const auto listen = [&](const berth::protocol::PrintedTail& tail) {
        told.push_back(tail.text);
    };
    auto request = command("for n in {1..20}; do echo line $n; sleep 0.05; done");
    (void)sandbox.execute(request, {}, listen);
    CHECK(told.empty());
    request.id = berth::random_hex(16);
    request.progress = 100;
    CHECK(sandbox.execute(request, {}, listen).exit_code == 0);
    REQUIRE(!told.empty());
    CHECK(told.front().starts_with("line 1\n"));

    request = command("sleep 0.5; echo of a job; sleep 20");
    request.background = true;
    berth::protocol::JobOutputRequest output;
    output.job_id = sandbox.execute(request, {}).job_id;
    output.filter = "never";
    output.wait = 1500;
    told.clear();
    (void)sandbox.job_output(output, {}, listen);
    CHECK(told.empty());
    output.progress = 100;
    request.id = berth::random_hex(16);
    output.job_id = sandbox.execute(request, {}).job_id;
    (void)sandbox.job_output(output, {}, listen);
    CHECK(told == std::vector<std::string>{"of a job\n"});
}

TEST_CASE("direct: a job goes on when its connection breaks, and ends with the guest")
{
    Direct direct;
    const std::string mark = direct.record.data.at("folder") + "/home/mark";
    {
        auto machine = direct.backend->attach(direct.record);
        auto channel = machine->connect(berth::Deadline::after(5s));
        berth::sandbox::GuestConnection connection(std::move(channel));
        connection.say_hello({.token = direct.machine_spec.token,
                              .generation = direct.machine_spec.generation,
                              .server = {}},
                             berth::Deadline::after(5s));
        connection.begin();
        connection.send_request(
            static_cast<std::uint16_t>(berth::protocol::Operation::execute),
            berth::protocol::encode(command("sleep 0.4; echo $$ >mark; exec sleep 300")));
        std::this_thread::sleep_for(150ms);
    }
    for (int i = 0; i < 6000 && !std::filesystem::exists(mark); ++i) {
        std::this_thread::sleep_for(5ms);
    }
    CHECK(std::filesystem::exists(mark));
    std::this_thread::sleep_for(50ms);
    CHECK(direct.sandbox->info().jobs.size() == 1);
    int pid = 0;
    std::ifstream(mark) >> pid;
    REQUIRE(pid > 0);
    CHECK(::kill(pid, 0) == 0);
    direct.sandbox->shutdown();
    CHECK(direct.ended());
    CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("direct: a guest that cannot start says so, and nothing stays")
{
    const berth::tests::TemporaryDirectory state;
    const auto missing = berth::direct::make_backend("/nonexistent/guest", state.path());
    CHECK(error_of([&] { (void)missing->create(spec()); }) == ErrorCode::sandbox_unavailable);
    const auto failing = berth::direct::make_backend("/bin/false", state.path());
    CHECK(error_of([&] { (void)failing->create(spec()); }) == ErrorCode::sandbox_unavailable);
}
