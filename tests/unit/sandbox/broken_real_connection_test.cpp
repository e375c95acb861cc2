// As broken_connection_test.cpp, with the guest that there is.

#include "sandbox/base/unix_socket.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/sandbox/cutting_machine.hpp"
#include "tests/unit/sandbox/real_guest.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace berth;
using test::command;
using test::Cut;
using test::reach_of;
using tests::becomes_true;

namespace {

/// The real guest behind a relay.
struct Real : test::RealGuest {
    [[nodiscard]] std::unique_ptr<sandbox::Sandbox> cut_at(const Cut& cut, bool kept = true) const
    {
        auto sandbox = std::make_unique<sandbox::Sandbox>(
            std::make_unique<test::CuttingMachine>(
                [socket = record.data.at("socket")] {
                    return connect_unix(socket, Deadline::after(std::chrono::seconds(10)));
                },
                record, std::vector{cut}, kept ? 1 : 0, reach_of(kept)),
            token);
        sandbox->attend();
        return sandbox;
    }

    /// -1: of one that runs.
    [[nodiscard]] std::vector<int> unseen_codes() const
    {
        std::vector<int> codes;
        const auto info = server->info();
        for (const auto* jobs : {&info.jobs, &info.ended}) {
            for (const auto& job : *jobs) {
                if (job.unseen) {
                    codes.push_back(job.exit_code.value_or(-1));
                }
            }
        }
        std::sort(codes.begin(), codes.end());
        return codes;
    }

    [[nodiscard]] std::size_t unseen() const { return unseen_codes().size(); }
};

/// Some of all places: it takes its time.
const std::vector<Cut> some_places{{false, 0}, {false, 8}, {false, 60}, {false, 150},
                                   {true, 0},  {true, 1},  {true, 8},   {true, 20}};

} // namespace

TEST_SUITE("sandbox/broken_real_connection")
{
    TEST_CASE("the real guest: a command runs once, is answered, and is not told as unseen")
    {
        Real real;
        for (std::size_t i = 0; i < some_places.size() * 2; ++i) {
            CAPTURE(i);
            const auto sandbox = real.cut_at(some_places[i / 2], i % 2 == 0);
            sandbox::Receipt receipt;
            const auto reply =
                sandbox->execute(command("echo x >>log; echo out; " +
                                         std::string(i % 4 < 2 ? "" : "sleep 0.1; ") + "exit 3"),
                                 {}, {}, &receipt);
            CHECK(reply.exit_code == 3);
            CHECK(reply.out.head == "out\n");
            CHECK(static_cast<bool>(receipt));
            receipt.acknowledge();
            (void)sandbox->leave(Deadline::after(std::chrono::seconds(10)));
            CHECK(real.unseen() == 0);
            std::string lines;
            for (std::size_t line = 0; line <= i; ++line) {
                lines += "x\n";
            }
            CHECK(real.text_of("log") == lines);
        }
        for (const auto& job : real.server->info().ended) {
            FAIL_CHECK("a job was left: " << job.job_id << " " << job.command);
        }
    }

    TEST_CASE("the real guest: files and jobs are changed once")
    {
        Real real;
        auto job = command("cat >fed; sleep 300");
        job.background = true;
        job.stdin_open = true;
        const auto job_id = real.server->execute(job, {}).job_id;
        std::string expected;
        for (std::size_t i = 0; i < some_places.size() * 2; ++i) {
            CAPTURE(i);
            const Cut& place = some_places[i / 2];
            const bool kept = i % 2 == 0;
            const auto piece = std::to_string(i) + "\n";
            expected += piece;
            protocol::WriteFileRequest write;
            write.path = "appended";
            write.content = piece;
            write.mode = protocol::WriteMode::append;
            CHECK(real.cut_at(place, kept)->write_file(write, {}).bytes == piece.size());
            CHECK(real.text_of("appended") == expected);

            protocol::EditFileRequest edit;
            edit.path = "edited" + std::to_string(i);
            edit.edits.push_back({.old_text = "", .new_text = "new"}); // refused if it is there
            edit.max_size = edit.diff_budget = 1000;
            CHECK(real.cut_at(place, kept)->edit_file(edit, {}).created);

            protocol::PatchFilesRequest patch;
            patch.patch = "*** Begin Patch\n*** Add File: patched" + std::to_string(i) +
                          "\n+x\n*** End Patch\n";
            patch.max_size = patch.diff_budget = 1000;
            CHECK(real.cut_at(place, kept)->patch_files(patch, {}).files.size() == 1);

            protocol::JobInputRequest input;
            input.job_id = job_id;
            input.input = piece;
            CHECK(real.cut_at(place, kept)->job_input(input, {}).taken == piece.size());
        }
        CHECK(becomes_true([&] { return real.text_of("fed") == expected; }));
        protocol::JobKillRequest kill;
        kill.job_id = job_id;
        kill.signal = SIGKILL;
        const auto ended = real.cut_at({.of_reply = true, .bytes = 5})->job_kill(kill, {});
        CHECK(ended.signalled > 0); // a second one would have found nothing
        CHECK_FALSE(ended.state.running);
    }

    TEST_CASE("the real guest: what only looks is asked for again where no connection is kept")
    {
        Real real;
        (void)real.server->execute(command("seq 1000 >file; head -c 3000000 /dev/zero >large"), {});
        protocol::ReadFileRequest read;
        read.path = "file";
        read.limit = read.budget = 10'000;
        for (const auto& place : some_places) {
            CAPTURE(place.of_reply);
            CAPTURE(place.bytes);
            CHECK(real.cut_at(place, /*kept=*/false)->read_file(read, {}).total_lines == 1000);
            std::size_t taken = 0;
            const auto out =
                real.cut_at(place, /*kept=*/false)
                    ->export_files({.path = "large", .max_bytes = 10'000'000},
                                   [&](std::string_view data) { taken += data.size(); }, {});
            CHECK(out.bytes == 3'000'000);
            CHECK(taken > 3'000'000); // with their names
            CHECK(taken < 3'010'000); // and once
        }
        // What was handed on cannot be taken back: whoever asked has to.
        try {
            (void)real.cut_at({.of_reply = true, .bytes = 1'000'000}, /*kept=*/false)
                ->export_files({.path = "large", .max_bytes = 10'000'000}, [](auto) {}, {});
            FAIL_CHECK("it was whole");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::backend_error);
            CHECK(error.retryable());
        }
    }

    TEST_CASE(
        "the real guest: of calls without a connection that is kept, what was not had is told")
    {
        Real real;
        const Cut never{.of_reply = true, .bytes = 1'000'000};
        const auto sandbox = real.cut_at(never, /*kept=*/false);
        const auto other = real.cut_at(never, /*kept=*/false);
        (void)other->execute(command("true"), {});
        sandbox::Receipt had;
        sandbox::Receipt unwanted;
        sandbox::Receipt forgotten;
        CHECK(sandbox->execute(command("exit 3"), {}, {}, &had).exit_code == 3);
        CHECK(sandbox->execute(command("sleep 300 & exit 4"), {}, {}, &unwanted).exit_code == 4);
        CHECK(sandbox->execute(command("exit 5"), {}, {}, &forgotten).exit_code == 5);
        CHECK(real.unseen() == 0); // its server is here, and may have it
        had.acknowledge();
        unwanted.decline();
        CHECK(sandbox->execute(command("exit 0"), {}).exit_code == 0); // carries the words
        CHECK(becomes_true([&] { return real.server->info().jobs.empty(); }));
        CHECK(real.unseen() == 0);
        CHECK(sandbox->leave(Deadline::after(std::chrono::seconds(10))) == 1); // the other one
        // Those without a word: the other one's server is still here. The guest may be yet to see
        // the end of a connection.
        CHECK(becomes_true([&] { return real.unseen_codes() == std::vector{0, 5}; }));
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        CHECK(real.unseen_codes() == std::vector{0, 5});
    }

    TEST_CASE("the real guest: a cancel reaches a command whose connection broke")
    {
        Real real;
        bool kept = true;
        SUBCASE("on a connection that is kept") {}
        SUBCASE("on one of its own")
        {
            kept = false;
        }
        const auto sandbox =
            real.cut_at({.of_reply = true, .bytes = 0}, kept); // at the first event
        std::stop_source stop;
        const std::jthread canceller([&] {
            (void)becomes_true([&] { return real.server->info().calls == 1; });
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
        REQUIRE(becomes_true([&] { return real.server->info().calls == 1; }));
        server->leave_commands();
        stop.request_stop();
        caller.join();
        server.reset();
        CHECK(becomes_true([&] { return real.unseen() == 1; }));
    }
}
