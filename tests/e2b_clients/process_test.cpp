#include "sandbox/base/sha256.hpp"
#include "tests/e2b_clients/stage.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::ErrorCode;
using berth::e2b::Pid;
using berth::e2b::ProcessSignal;
using berth::e2b::ProcessStart;
using berth::tests::becomes_true;
using berth::tests::in_time;
using berth::tests::outcome_of;
using berth::tests::output_of;
using berth::tests::pid_of;
using berth::tests::reading;
using berth::tests::run;
using berth::tests::Scene;
using berth::tests::shell;
using berth::tests::Wrong;
using berth::tests::wrong_of;

namespace {

constexpr Pid nobody = 4'000'000;

/// A refusal is heard where the server reads on for as long as the body takes; else, of a long one,
/// it is a connection that ended. Never is it taken for a success.
bool was_heard(const Wrong& wrong, std::size_t size)
{
    const bool heard = wrong.kind == "status 200";
    if (!heard) {
        CHECK(size > 256U << 10U);
        CHECK(wrong.kind == "broken");
        CHECK_FALSE(wrong.unsent);
    }
    return heard;
}

std::string sample(std::size_t size)
{
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<char>(i * 31 + i / 251);
    }
    return bytes;
}

} // namespace

TEST_CASE("a process has the environment, the folder and the user that it was given")
{
    Scene scene;
    auto start = shell("printf '%s|' \"$A\" \"$B\" \"$E2B_SANDBOX_ID\"; pwd; id -un; echo err >&2");
    start.environment = {{"A", "a b\n\"c\" \\ $HOME"}, {"B", "\xc3\xa4"}};
    start.working_directory = "/tmp";
    start.user = "root";
    auto stream = scene.client.start(start);
    const auto outcome = outcome_of(stream);
    CHECK(outcome.out == "a b\n\"c\" \\ $HOME|\xc3\xa4|" + scene.box.id + "|/tmp\nroot\n");
    CHECK(outcome.error == "err\n");
    REQUIRE(outcome.ended);
    CHECK(outcome.ended->exit_code == 0);
    CHECK(outcome.ended->exited);
    if (::geteuid() == 0) { // an ordinary user can give a box one user alone
        CHECK(run(scene.client, "id -un; pwd").out == "user\n/home/user\n");
    }
}

TEST_CASE("how a process ended is told as it is")
{
    Scene scene;
    for (const int code : {0, 1, 3, 127, 255}) {
        const auto outcome = run(scene.client, "exit " + std::to_string(code));
        REQUIRE(outcome.ended);
        CHECK(outcome.ended->exit_code == code);
        CHECK(outcome.ended->exited);
    }
    const auto killed = run(scene.client, "echo hi; kill -KILL $$");
    REQUIRE(killed.ended);
    CHECK(killed.out == "hi\n");
    CHECK(killed.ended->exit_code == -1);
    CHECK_FALSE(killed.ended->exited);
    CHECK(killed.ended->status == "signal: killed");
}

TEST_CASE("what cannot be started is refused in words")
{
    Scene scene;
    const auto refused = [&](ProcessStart start) {
        return wrong_of([&] {
            auto stream = scene.client.start(start);
            const auto outcome = outcome_of(stream);
            CHECK(outcome.ended.has_value());
            CHECK(outcome.ended->exit_code == 127); // by the shell that envd wraps it with
        });
    };
    auto elsewhere = shell("true");
    elsewhere.working_directory = "/no/such";
    CHECK(refused(elsewhere).code == ErrorCode::invalid_argument);
    auto stranger = shell("true");
    stranger.user = "nobody-here";
    CHECK(refused(stranger).kind == "status 200"); // within the stream
    CHECK(refused(stranger).code == ErrorCode::invalid_argument);
    CHECK(refused({.command = "/no/such/program"}).kind == "nothing");
    auto large = shell("true");
    large.environment["LARGE"] = std::string(200U << 10U, 'x'); // above what a kernel takes
    CHECK(refused(large).code == ErrorCode::invalid_argument);
    large.environment["LARGE"] = std::string(90'000, 'x');
    for (const char* name : {"B", "C", "D"}) {
        large.environment[name] = large.environment["LARGE"];
    }
    CHECK(wrong_of([&] {
              auto stream = scene.client.start(large);
              CHECK(outcome_of(stream).ended->exit_code == 0);
          }).kind == "nothing");
}

TEST_CASE("input arrives to the byte, by one call after another and by one that goes on")
{
    Scene scene;
    auto stream = scene.client.start(reading("sha256sum; echo over"));
    const auto pid = pid_of(stream);
    const auto all = sample(3'000'000);
    scene.client.send_input(pid, std::string_view(all).substr(0, 10), in_time());
    scene.client.send_input(pid, {}, in_time());
    scene.client.send_input(pid, std::string_view(all).substr(10, 200'000), in_time());
    auto input = scene.client.stream_input(pid);
    input.send(std::string_view(all).substr(200'010, 1'000'001), in_time());
    input.send(std::string_view(all).substr(1'200'011), in_time());
    input.finish(in_time());
    scene.client.close_stdin(pid, in_time());
    const auto outcome = outcome_of(stream);
    CHECK(outcome.out == berth::sha256_hex(all) + "  -\nover\n");
    CHECK(outcome.ended->exit_code == 0);
}

TEST_CASE("input and output go on at once, and much of both")
{
    Scene scene;
    auto stream = scene.client.start(reading("cat"));
    const auto pid = pid_of(stream);
    const auto all = sample(8'000'000);
    std::thread giver([&] {
        auto input = scene.client.stream_input(pid);
        input.send(all, in_time());
        input.finish(in_time());
        scene.client.close_stdin(pid, in_time());
    });
    const auto outcome = outcome_of(stream);
    giver.join();
    CHECK((outcome.out == all));
    CHECK(outcome.ended.has_value());
}

TEST_CASE("a process is signalled, and is gone for whoever comes later")
{
    Scene scene;
    for (const auto signal : {ProcessSignal::terminate, ProcessSignal::kill}) {
        auto stream = scene.client.start(shell("exec sleep 600"));
        const auto pid = pid_of(stream);
        scene.client.send_signal(pid, signal, in_time());
        const auto outcome = outcome_of(stream);
        REQUIRE(outcome.ended);
        CHECK(outcome.ended->exit_code == -1);
        CHECK(outcome.ended->status ==
              (signal == ProcessSignal::kill ? "signal: killed" : "signal: terminated"));
        for (const auto& wrong :
             {wrong_of([&] { scene.client.send_signal(pid, signal, in_time()); }),
              wrong_of([&] { scene.client.send_input(pid, "x", in_time()); }),
              wrong_of([&] { scene.client.close_stdin(pid, in_time()); })}) {
            CHECK(wrong.kind == "status 404");
            CHECK(wrong.code == ErrorCode::not_found);
        }
    }
}

TEST_CASE("who connects to a process hears what it says from then on, and how it ended")
{
    Scene scene;
    auto first = scene.client.start(reading("echo one; read line; echo two $line; exit 7"));
    const auto pid = pid_of(first);
    CHECK(output_of(first, 4) == "one\n");
    auto second = scene.client.connect(pid);
    CHECK(pid_of(second) == pid);
    const auto processes = scene.client.list(in_time());
    REQUIRE(processes.size() == 1);
    CHECK(processes.front().pid == pid);
    CHECK(processes.front().command == "/bin/bash");
    scene.client.send_input(pid, "more\n", in_time());
    CHECK(output_of(first, 9) == "two more\n");
    const auto outcome = outcome_of(second);
    CHECK(outcome.out == "two more\n");
    CHECK(outcome.ended->exit_code == 7);
    auto late = scene.client.connect(pid);
    const auto ended = outcome_of(late);
    CHECK(ended.out.empty());
    CHECK(ended.ended->exit_code == 7);
    auto none = scene.client.connect(nobody);
    CHECK(wrong_of([&] { static_cast<void>(outcome_of(none)); }).code == ErrorCode::not_found);
    CHECK(scene.client.list(in_time()).empty());
}

TEST_CASE("a process whose client has left goes on")
{
    Scene scene;
    {
        auto stream = scene.client.start(reading("read line; echo $line >f"));
        const auto pid = pid_of(stream);
        stream.cut();
        CHECK(wrong_of([&] { static_cast<void>(stream.next(in_time())); }).kind == "cut");
        scene.client.send_input(pid, "still here\n", in_time());
    }
    CHECK(becomes_true([&] { return run(scene.client, "cat f").out == "still here\n"; }));
}

TEST_CASE("input for nobody is refused as such, however much of it there is")
{
    Scene scene;
    for (const std::size_t size : {std::size_t{1}, std::size_t{300'000}, std::size_t{30'000'000}}) {
        CAPTURE(size);
        const auto wrong = wrong_of([&] {
            auto input = scene.client.stream_input(nobody);
            input.send(std::string(size, 'x'), in_time());
            input.finish(in_time());
        });
        if (was_heard(wrong, size)) {
            CHECK(wrong.code == ErrorCode::not_found);
        }
    }
    CHECK(run(scene.client, "echo hi").out == "hi\n");
}

TEST_CASE("input that is refused while its giver rests is told to be, when it goes on")
{
    Scene scene;
    auto input = scene.client.stream_input(nobody);
    input.send("x", in_time());
    std::this_thread::sleep_for(3s); // by then the refusal has come, and the connection has ended
    const auto wrong = wrong_of([&] {
        input.send(std::string(3'000'000, 'x'), in_time());
        input.finish(in_time());
    });
    CHECK(was_heard(wrong, 3'000'000));
}

TEST_CASE("input to a process that ends meanwhile is refused, not waited for")
{
    Scene scene;
    auto stream = scene.client.start(reading("head -c 100000 | wc -c"));
    const auto pid = pid_of(stream);
    const auto wrong = wrong_of([&] {
        auto input = scene.client.stream_input(pid);
        input.send(std::string(30'000'000, 'x'), in_time());
        input.finish(in_time());
    });
    static_cast<void>(was_heard(wrong, 30'000'000));
    CHECK(outcome_of(stream).out == "100000\n");
}

TEST_CASE("input that nobody reads expires, and comes all the same, once")
{
    Scene scene;
    static_cast<void>(run(scene.client, "mkfifo gate"));
    auto stream = scene.client.start(reading("read go <gate; wc -c"));
    const auto pid = pid_of(stream);
    const auto wrong = wrong_of(
        [&] { scene.client.send_input(pid, std::string(150'000, 'x'), Deadline::after(500ms)); });
    CHECK(wrong.kind == "expired");
    CHECK_FALSE(wrong.unsent);
    static_cast<void>(run(scene.client, "echo >gate"));
    scene.client.close_stdin(pid, in_time());
    CHECK(outcome_of(stream).out == "150000\n");
}

TEST_CASE("much output comes whole, and a reader that rests loses nothing")
{
    Scene scene;
    auto stream =
        scene.client.start(shell("head -c 16000000 /dev/zero | tr '\\0' x; echo end >&2"));
    static_cast<void>(pid_of(stream));
    std::this_thread::sleep_for(1s);
    CHECK(run(scene.client, "echo others go on").out == "others go on\n");
    const auto outcome = outcome_of(stream);
    CHECK((outcome.out == std::string(16'000'000, 'x')));
    CHECK(outcome.error == "end\n");
}

TEST_CASE("many at once, each with its own answer, and few connections after them")
{
    Scene scene;
    std::vector<std::thread> threads;
    std::vector<std::string> answers(16);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        threads.emplace_back(
            [&, i] { answers[i] = run(scene.client, "echo " + std::to_string(i)).out; });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        CHECK(answers[i] == std::to_string(i) + '\n');
    }
    CHECK(scene.http.idle() <= 4);
}

TEST_CASE("a process that says nothing for long is heard at its end")
{
    Scene scene;
    auto patient = scene.envd(scene.box, {.ping = 1s, .silence = 6s});
    CHECK(run(patient, "sleep 8; echo hi").out == "hi\n");
}

TEST_CASE("what is given by StreamInput or as a file is not in envd's log, what Start has is")
{
    Scene scene;
    auto stream = scene.client.start(reading("cat >/dev/null"));
    const auto pid = pid_of(stream);
    auto input = scene.client.stream_input(pid);
    input.send("c2VjcmV0 secret", in_time());
    input.finish(in_time());
    scene.client.close_stdin(pid, in_time());
    static_cast<void>(outcome_of(stream));
    bool given = false;
    scene.client.upload(
        "f", "",
        [&](char* data, std::size_t) {
            data[0] = 's';
            return given ? 0U : (given = true, 1U);
        },
        in_time());
    const auto log = scene.emulator.log(scene.box.id);
    CHECK(log.find("cat >/dev/null") != std::string::npos);
    CHECK(log.find("StreamInput") == std::string::npos);
    CHECK(log.find("secret") == std::string::npos);
    CHECK(log.find(scene.box.envd_token) == std::string::npos);
}

TEST_CASE("a token that is wrong is refused, and a box that is not there too")
{
    Scene scene;
    auto box = scene.box;
    box.envd_token = "ea_" + std::string(64, '0');
    auto stranger = scene.envd(box);
    const auto wrong = wrong_of([&] { static_cast<void>(run(stranger, "echo hi >f")); });
    CHECK(wrong.kind == "status 401");
    CHECK(wrong.code == ErrorCode::authentication_required);
    CHECK(wrong_of([&] { static_cast<void>(stranger.list(in_time())); }).kind == "status 401");
    box.id = "i00000000000000000000";
    auto nowhere = scene.envd(box);
    CHECK(wrong_of([&] { static_cast<void>(nowhere.list(in_time())); }).kind == "status 502");
    CHECK_FALSE(nowhere.is_healthy(in_time()));
    CHECK(scene.client.is_healthy(in_time()));
    CHECK(run(scene.client, "ls").out.empty());
}
