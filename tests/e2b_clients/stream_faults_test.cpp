#include "tests/e2b_clients/stage.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::ErrorCode;
using berth::e2b::BoxState;
using berth::e2b::EnvdClient;
using berth::e2b::Pid;
using berth::e2b::ProcessSignal;
using berth::tests::becomes_true;
using berth::tests::in_time;
using berth::tests::Outcome;
using berth::tests::outcome_of;
using berth::tests::output_of;
using berth::tests::pid_of;
using berth::tests::reading;
using berth::tests::run;
using berth::tests::Scene;
using berth::tests::shell;
using berth::tests::Wrong;
using berth::tests::wrong_of;
using nlohmann::json;

namespace {

constexpr const char* html = "<html><head><title>502 Bad Gateway</title></head></html>";

void on(Scene& scene, const std::string& procedure, json fault)
{
    fault["plane"] = "envd";
    fault["path"] = procedure.front() == '/' ? procedure : "/process.Process/" + procedure;
    scene.emulator.fault(fault);
}

/// Of a process that adds a line to a file, so that it is seen how often there was one.
Wrong started_with(Scene& scene, const json& fault, Outcome* outcome = nullptr)
{
    on(scene, "Start", fault);
    return wrong_of([&] {
        auto got = run(scene.client, "echo x >>ran; echo hi");
        CHECK(got.out == "hi\n");
        REQUIRE(got.ended);
        CHECK(got.ended->exit_code == 0);
        if (outcome != nullptr) {
            *outcome = got;
        }
    });
}

/// How often it ran until now; it is forgotten then.
std::size_t ran(Scene& scene)
{
    return run(scene.client, "cat ran 2>/dev/null; rm -f ran").out.size() / 2;
}

/// What envd or its proxies answer in place of a stream, and what it is to be told as.
struct Answer {
    json fault;
    std::string kind;
    ErrorCode code;
    bool retryable;
};

json said(int status, json body)
{
    return {{"status", status}, {"body", std::move(body)}, {"type", "application/json"}};
}

const std::array answers = {
    Answer{{{"status", 502}, {"body", html}}, "status 502", ErrorCode::sandbox_unavailable, true},
    Answer{said(502, {{"sandboxId", "i"}, {"message", "The sandbox was not found"}, {"code", 502}}),
           "status 502", ErrorCode::sandbox_unavailable, true},
    Answer{{{"status", 500}}, "status 500", ErrorCode::backend_error, true},
    Answer{said(500, {{"code", "internal"}, {"message", "no"}}), "status 500",
           ErrorCode::backend_error, false},
    Answer{{{"status", 503}, {"body", ""}}, "status 503", ErrorCode::sandbox_unavailable, true},
    Answer{said(503, {{"code", "unavailable"}, {"message", "no"}}), "status 503",
           ErrorCode::sandbox_unavailable, true},
    Answer{{{"status", 429}}, "status 429", ErrorCode::quota_exceeded, false},
    Answer{{{"status", 429}, {"headers", {{"Retry-After", "1"}}}},
           "status 429",
           ErrorCode::busy,
           true},
    Answer{{{"status", 409}, {"body", {{"message", "The sandbox is still transitioning."}}}},
           "status 409",
           ErrorCode::busy,
           true},
    Answer{{{"status", 403}}, "status 403", ErrorCode::authentication_required, false},
    Answer{{{"status", 504}, {"body", "upstream request timeout"}, {"type", "text/plain"}},
           "status 504",
           ErrorCode::sandbox_unavailable,
           true},
};

/// A short call about a process that reads its stdin.
struct Call {
    const char* procedure;
    std::function<void(EnvdClient&, Pid, const Deadline&)> make;
};

const std::array calls = {
    Call{"List", [](EnvdClient& envd, Pid,
                    const Deadline& deadline) { static_cast<void>(envd.list(deadline)); }},
    Call{"SendInput", [](EnvdClient& envd, Pid pid,
                         const Deadline& deadline) { envd.send_input(pid, "x", deadline); }},
    Call{"StreamInput",
         [](EnvdClient& envd, Pid pid, const Deadline& deadline) {
             auto input = envd.stream_input(pid);
             input.send("x", deadline);
             input.finish(deadline);
         }},
    Call{"CloseStdin", [](EnvdClient& envd, Pid pid,
                          const Deadline& deadline) { envd.close_stdin(pid, deadline); }},
    Call{"SendSignal",
         [](EnvdClient& envd, Pid pid, const Deadline& deadline) {
             envd.send_signal(pid, ProcessSignal::kill, deadline);
         }},
};

Wrong made_with(Scene& scene, const Call& call, Pid pid, const json& fault)
{
    on(scene, call.procedure, fault);
    return wrong_of([&] { call.make(scene.client, pid, in_time()); });
}

} // namespace

TEST_CASE("a refused start has started nothing, and says why")
{
    Scene scene;
    for (const auto& answer : answers) {
        CAPTURE(answer.fault.dump());
        const auto wrong = started_with(scene, answer.fault);
        CHECK(wrong.kind == answer.kind);
        CHECK(wrong.code == answer.code);
        CHECK(wrong.retryable == answer.retryable);
        CHECK(ran(scene) == 0);
    }
}

TEST_CASE("a stream that is cut at any byte is broken, or was whole, and nothing runs twice")
{
    Scene scene;
    const std::array kinds = {json{{"cut", 0}}, json{{"cut", 0}, {"reset", false}},
                              json{{"end", 0}}};
    bool whole = false;
    for (int at = 0; !whole; ++at) {
        CAPTURE(at);
        REQUIRE(at < 400);
        // Each at every third byte, and all of them where an envelope begins.
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (at > 6 && static_cast<std::size_t>(at) % kinds.size() != i) {
                continue;
            }
            auto fault = kinds.at(i);
            *fault.begin() = at; // the first by name, which is cut or end
            CAPTURE(fault.dump());
            const auto wrong = started_with(scene, fault);
            if (wrong.kind == "nothing") {
                whole = true; // the last envelope had come
            } else {
                CHECK(wrong.kind == "broken");
                CHECK_FALSE(wrong.unsent);
                CHECK_FALSE(wrong.retryable);
            }
        }
    }
    scene.emulator.clear_faults();
    // As often as it was asked for at most, and the last time for sure.
    const auto counts = scene.emulator.take_counts();
    CHECK(static_cast<int>(ran(scene)) <= counts.at("envd POST /process.Process/Start"));
}

TEST_CASE("a start whose answer is lost has run once, one whose request is has not")
{
    Scene scene;
    CHECK(started_with(scene, {{"lose_reply", true}}).kind == "broken");
    CHECK(becomes_true([&] { return run(scene.client, "cat ran").out == "x\n"; }));
    CHECK(ran(scene) == 1);
    for (const bool reset : {true, false}) {
        CHECK(started_with(scene, {{"drop", true}, {"reset", reset}}).kind == "broken");
        CHECK(started_with(scene, {{"cut_request", 20}}).kind == "broken");
    }
    CHECK(ran(scene) == 0);
}

TEST_CASE("a stream that goes silent is dead, wherever, and what it began may go on")
{
    Scene scene;
    auto hasty = scene.envd(scene.box, {.ping = 1s, .silence = 2s});
    for (const int at : {0, 3, 37}) {
        CAPTURE(at);
        on(scene, "Start", {{"silent", at}});
        const auto wrong = wrong_of([&] { static_cast<void>(run(hasty, "echo hi >f")); });
        CHECK(wrong.kind == "broken");
        CHECK(wrong.message.find("silent") != std::string::npos);
    }
    CHECK(becomes_true([&] { return run(scene.client, "cat f").out == "hi\n"; }));
}

TEST_CASE("a deadline in the middle leaves a stream as it is, and a late answer is right")
{
    Scene scene;
    on(scene, "Start", {{"delay", 6}}); // so long that no machine is that slow to wait for less
    auto stream = scene.client.start(shell("echo hi"));
    CHECK(wrong_of([&] { static_cast<void>(stream.next(Deadline::after(100ms))); }).kind ==
          "expired");
    CHECK(outcome_of(stream).out == "hi\n");
}

TEST_CASE("a subscriber that stalls envd is waited for as long as was said, and nothing is lost")
{
    Scene scene;
    auto stream = scene.client.start(reading("read line; head -c 16000000 /dev/zero; echo >done"));
    const auto pid = pid_of(stream);
    scene.emulator.act(scene.box.id, "stall", {{"pid", pid}});
    scene.client.send_input(pid, "\n", in_time());
    std::size_t got = 0;
    const auto stalled = wrong_of([&] {
        for (;;) {
            const auto event = stream.next(Deadline::after(3s));
            REQUIRE(event);
            const auto* output = std::get_if<berth::e2b::ProcessOutput>(&*event);
            got += output != nullptr ? output->bytes.size() : 0;
        }
    });
    CHECK(stalled.kind == "expired");
    CHECK(got < 16'000'000);
    CHECK(run(scene.client, "ls").out.empty()); // others are heard
    scene.emulator.act(scene.box.id, "end_stall");
    CHECK(got + outcome_of(stream).out.size() == 16'000'000);
    CHECK(run(scene.client, "ls").out == "done\n");
}

TEST_CASE(
    "a box that vanishes, expires or is paused under a stream ends it, and the state is asked")
{
    for (const std::string then : {"vanish", "expire", "pause"}) {
        CAPTURE(then);
        Scene scene;
        auto stream = scene.client.start(shell("echo hi; sleep 600"));
        CHECK(output_of(stream, 3) == "hi\n");
        scene.emulator.act(scene.box.id, then);
        CHECK(wrong_of([&] { static_cast<void>(outcome_of(stream)); }).kind == "broken");
        CHECK(becomes_true([&] { return scene.emulator.books().running.empty(); }));
        const auto next = wrong_of([&] { static_cast<void>(run(scene.client, "true")); });
        CHECK(next.kind == "status 502");
        CHECK(next.code == ErrorCode::sandbox_unavailable);
        CHECK_FALSE(scene.client.is_healthy(in_time()));
        if (then == "pause") {
            CHECK(scene.api.info(scene.box.id, in_time()).state == BoxState::paused);
        } else {
            const auto asked =
                wrong_of([&] { static_cast<void>(scene.api.info(scene.box.id, in_time())); });
            CHECK(asked.code == ErrorCode::session_lost);
        }
    }
}

TEST_CASE("a box that is paused and woken goes on where it was, for whoever connects anew")
{
    Scene scene({.auto_pause = true});
    auto stream =
        scene.client.start(reading("echo one; read line; echo $line; read line; echo $line"));
    const auto pid = pid_of(stream);
    CHECK(output_of(stream, 4) == "one\n");
    stream.cut(); // one that is left would stand in the snapshot as a dead one
    CHECK(scene.api.pause(scene.box.id, in_time()));
    for (const auto& call : calls) {
        CHECK(made_with(scene, call, pid, {{"delay", 0.01}}).kind == "status 502");
    }
    CHECK(scene.emulator.books().paused.contains(scene.box.id)); // nothing of that has woken it
    CHECK(scene.api.connect(scene.box.id, 300s, in_time()).resumed);
    auto again = scene.client.connect(pid);
    CHECK(pid_of(again) == pid);
    scene.client.send_input(pid, "two\n", in_time());
    CHECK(output_of(again, 4) == "two\n");
    scene.client.send_input(pid, "three\n", in_time());
    const auto outcome = outcome_of(again);
    CHECK(outcome.out == "three\n");
    CHECK(outcome.ended->exit_code == 0);
}

TEST_CASE("a short call that is refused says why, and does nothing")
{
    Scene scene;
    auto stream = scene.client.start(reading("wc -c"));
    const auto pid = pid_of(stream);
    for (const auto& call : calls) {
        for (const auto& answer : answers) {
            CAPTURE(call.procedure);
            CAPTURE(answer.fault.dump());
            const auto wrong = made_with(scene, call, pid, answer.fault);
            CHECK(wrong.kind == answer.kind);
            CHECK(wrong.code == answer.code);
        }
    }
    scene.client.close_stdin(pid, in_time());
    CHECK(outcome_of(stream).out == "0\n");
}

TEST_CASE("input is given once at most, however its call ends")
{
    Scene scene;
    for (std::size_t i = 1; i < 3; ++i) { // SendInput and StreamInput
        const auto& call = calls.at(i);
        CAPTURE(call.procedure);
        auto stream = scene.client.start(reading("wc -c"));
        const auto pid = pid_of(stream);
        for (const auto& [fault, given] :
             std::initializer_list<std::pair<json, bool>>{{{{"drop", true}}, false},
                                                          {{{"cut_request", 20}}, false},
                                                          {{{"cut", 1}}, true},
                                                          {{{"cut", 1}, {"reset", false}}, true},
                                                          {{{"lose_reply", true}}, true}}) {
            CAPTURE(fault.dump());
            static_cast<void>(scene.emulator.take_counts());
            const auto wrong = made_with(scene, call, pid, fault);
            CHECK(wrong.kind == "broken");
            CHECK_FALSE(wrong.unsent);
            CHECK(scene.emulator.take_counts()[std::string("envd POST /process.Process/") +
                                               call.procedure] == 1);
        }
        scene.client.close_stdin(pid, in_time());
        CHECK(outcome_of(stream).out == "3\n");
    }
}

TEST_CASE("a short call whose answer does not come whole is broken, and so is one that is silent")
{
    Scene scene;
    auto hasty = scene.envd(scene.box, {.patience = 1s});
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto& call = calls.at(i);
        CAPTURE(call.procedure);
        auto stream = scene.client.start(reading("sleep 600"));
        const auto pid = pid_of(stream);
        CHECK(made_with(scene, call, pid, {{"cut", 0}}).kind == "broken");
        on(scene, call.procedure, {{"silent", 0}});
        const auto wrong = wrong_of([&] { call.make(hasty, pid, in_time()); });
        CHECK((wrong.kind == "expired" || wrong.kind == "status 404"));
        static_cast<void>(
            wrong_of([&] { scene.client.send_signal(pid, ProcessSignal::kill, in_time()); }));
    }
    CHECK(run(scene.client, "echo hi").out == "hi\n");
}

TEST_CASE(
    "a box that vanishes or is paused just before a call is told by it, and the call does nothing")
{
    Scene scene;
    auto stream = scene.client.start(reading("wc -c"));
    const auto pid = pid_of(stream);
    stream.cut();
    for (const auto& call : calls) {
        CAPTURE(call.procedure);
        const auto wrong = made_with(scene, call, pid, {{"then", "pause"}});
        CHECK(wrong.kind == "status 502");
        CHECK(wrong.code == ErrorCode::sandbox_unavailable);
        CHECK(scene.api.info(scene.box.id, in_time()).state == BoxState::paused);
        CHECK(scene.api.connect(scene.box.id, 300s, in_time()).resumed);
    }
    auto again = scene.client.connect(pid);
    CHECK(pid_of(again) == pid);
    scene.client.close_stdin(pid, in_time());
    CHECK(outcome_of(again).out == "0\n");
    CHECK(started_with(scene, {{"then", "pause"}}).kind == "status 502");
    CHECK(scene.api.connect(scene.box.id, 300s, in_time()).resumed);
    CHECK(ran(scene) == 0);
    CHECK(started_with(scene, {{"then", "vanish"}}).kind == "status 502");
    CHECK(scene.emulator.books().ended.at(scene.box.id) == "vanished");
}

TEST_CASE("an input that is cut has given whole pieces alone, and stdin stays open")
{
    Scene scene;
    for (const int at : {1, 40, 100'000, 500'000, 900'000}) {
        CAPTURE(at);
        auto stream = scene.client.start(reading("wc -c"));
        const auto pid = pid_of(stream);
        on(scene, "StreamInput", {{"cut_request", at}});
        const auto wrong = wrong_of([&] {
            auto input = scene.client.stream_input(pid);
            input.send(std::string(1'000'000, 'x'), in_time());
            input.finish(in_time());
        });
        CHECK(wrong.kind == "broken");
        CHECK_FALSE(wrong.unsent);
        CHECK(scene.client.list(in_time()).size() == 1);
        scene.client.close_stdin(pid, in_time());
        const auto got = std::stoul(outcome_of(stream).out);
        CHECK(got % (256U << 10U) == 0);
        CHECK(got <= static_cast<unsigned>(at));
    }
}

TEST_CASE("a box that vanishes or is paused in the middle of an input ends it")
{
    for (const std::string then : {"vanish", "pause"}) {
        CAPTURE(then);
        Scene scene;
        auto stream = scene.client.start(reading("sleep 600"));
        const auto pid = pid_of(stream);
        on(scene, "StreamInput", {{"then", then}, {"after", 3}});
        const auto wrong = wrong_of([&] {
            auto input = scene.client.stream_input(pid);
            input.send(std::string(3'000'000, 'x'), in_time());
            input.finish(in_time());
        });
        // 502 where it was slow to begin.
        CHECK((wrong.kind == "broken" || wrong.kind == "status 502"));
        CHECK_FALSE(wrong.unsent);
        CHECK(wrong_of([&] { static_cast<void>(outcome_of(stream)); }).kind == "broken");
    }
}
