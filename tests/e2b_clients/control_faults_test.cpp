#include "tests/e2b_clients/stage.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::ErrorCode;
using berth::e2b::Box;
using berth::e2b::BoxState;
using berth::e2b::Metadata;
using berth::tests::becomes_true;
using berth::tests::in_time;
using berth::tests::Stage;
using berth::tests::Wrong;
using berth::tests::wrong_of;
using nlohmann::json;

namespace {

constexpr const char* html = "<html><head><title>502 Bad Gateway</title></head></html>";

/// A call about a box that is there, and how its request is known.
struct Call {
    const char* name;
    const char* method;
    const char* path;
    std::function<void(Stage&, const Box&, const Deadline&)> make;
};

const std::array calls = {
    Call{"connect", "POST", "/v2/sandboxes/{id}/connect",
         [](Stage& stage, const Box& box, const Deadline& deadline) {
             static_cast<void>(stage.api.connect(box.id, 300s, deadline));
         }},
    Call{"set_timeout", "POST", "/sandboxes/{id}/timeout",
         [](Stage& stage, const Box& box, const Deadline& deadline) {
             stage.api.set_timeout(box.id, 300s, deadline);
         }},
    Call{"info", "GET", "/sandboxes/{id}",
         [](Stage& stage, const Box& box, const Deadline& deadline) {
             static_cast<void>(stage.api.info(box.id, deadline));
         }},
    Call{"list", "GET", "/v2/sandboxes",
         [](Stage& stage, const Box&, const Deadline& deadline) {
             static_cast<void>(stage.api.list({}, deadline));
         }},
    Call{"pause", "POST", "/sandboxes/{id}/pause",
         [](Stage& stage, const Box& box, const Deadline& deadline) {
             static_cast<void>(stage.api.pause(box.id, deadline));
         }},
    Call{"kill", "DELETE", "/sandboxes/{id}",
         [](Stage& stage, const Box& box, const Deadline& deadline) {
             static_cast<void>(stage.api.kill(box.id, deadline));
         }},
};

void inject(Stage& stage, const Call& call, json fault)
{
    fault["plane"] = "api";
    fault["method"] = call.method;
    fault["path"] = call.path;
    stage.emulator.fault(fault);
}

Wrong made_with(Stage& stage, const Call& call, const Box& box, const json& fault)
{
    inject(stage, call, fault);
    return wrong_of([&] { call.make(stage, box, in_time()); });
}

int asked(Stage& stage, const Call& call)
{
    const auto counts = stage.emulator.take_counts();
    const auto found = counts.find(std::string("api ") + call.method + ' ' + call.path);
    return found == counts.end() ? 0 : found->second;
}

/// Of its answer.
bool has_body(const Call& call)
{
    const std::string name = call.name;
    return name == "connect" || name == "info" || name == "list";
}

/// An answer in place of the control plane's, and what it is to be told as.
struct Answer {
    json fault;
    std::string kind;
    ErrorCode code;
    bool retryable;
};

const std::array answers = {
    Answer{{{"status", 429}}, "status 429", ErrorCode::quota_exceeded, false},
    Answer{{{"status", 501}}, "status 501", ErrorCode::backend_error, true},
    Answer{{{"status", 401}}, "status 401", ErrorCode::authentication_required, false},
    Answer{{{"status", 403}}, "status 403", ErrorCode::permission_denied, false},
    Answer{{{"status", 301}, {"headers", {{"Location", "http://127.0.0.1:1/"}}}},
           "status 301",
           ErrorCode::backend_error,
           false},
};

} // namespace

TEST_CASE("each refusal of the control plane is told as it is, once, and leaves the box alone")
{
    Stage stage;
    const auto box = stage.create();
    for (const auto& call : calls) {
        for (const auto& answer : answers) {
            CAPTURE(call.name);
            CAPTURE(answer.kind);
            static_cast<void>(stage.emulator.take_counts());
            const auto wrong = made_with(stage, call, box, answer.fault);
            CHECK(wrong.kind == answer.kind);
            CHECK(wrong.code == answer.code);
            CHECK(wrong.retryable == answer.retryable);
            CHECK(asked(stage, call) == 1);
            CHECK(stage.api.info(box.id, in_time()).state == BoxState::running);
        }
    }
    CHECK(stage.waits.empty());
}

TEST_CASE("where the outcome is known the same is asked again, after the time that was said")
{
    Stage stage;
    for (const auto& call : calls) {
        for (const int status : {429, 503}) {
            CAPTURE(call.name);
            CAPTURE(status);
            const auto box = stage.create();
            static_cast<void>(stage.emulator.take_counts());
            stage.waits.clear();
            const auto wrong =
                made_with(stage, call, box,
                          {{"status", status}, {"headers", {{"Retry-After", "7"}}}, {"times", 2}});
            CHECK(wrong.kind == "nothing");
            CHECK(asked(stage, call) == 3);
            CHECK(stage.waits == std::vector<std::chrono::milliseconds>(2, 7s));
        }
    }
}

TEST_CASE("what a gateway or a server gives up is asked again, twice, and then told as that")
{
    Stage stage;
    for (const auto& call : calls) {
        for (const json& fault : std::initializer_list<json>{{{"status", 502}, {"body", html}},
                                                             {{"status", 504}, {"body", ""}},
                                                             {{"status", 500}}}) {
            CAPTURE(call.name);
            CAPTURE(fault.dump());
            const auto box = stage.create();
            static_cast<void>(stage.emulator.take_counts());
            auto twice = fault;
            twice["times"] = 2;
            CHECK(made_with(stage, call, box, twice).kind == "nothing");
            CHECK(asked(stage, call) == 3);
            auto ever = fault;
            ever["times"] = 0;
            const auto wrong = made_with(stage, call, box, ever);
            CHECK(wrong.code == (fault.at("status") == 500 ? ErrorCode::backend_error
                                                           : ErrorCode::sandbox_unavailable));
            CHECK(wrong.retryable);
            CHECK(asked(stage, call) == 3);
            stage.emulator.clear_faults();
        }
    }
}

TEST_CASE("a server in trouble is asked again and again, and not for ever")
{
    Stage stage;
    const auto box = stage.create();
    for (const auto& call : calls) {
        CAPTURE(call.name);
        static_cast<void>(stage.emulator.take_counts());
        stage.waits.clear();
        const auto wrong = made_with(stage, call, box, {{"status", 503}, {"times", 0}});
        CHECK(wrong.kind == "status 503");
        CHECK(wrong.code == ErrorCode::sandbox_unavailable);
        CHECK(asked(stage, call) == static_cast<int>(berth::e2b::most_failures));
        stage.emulator.clear_faults();
    }
}

TEST_CASE("a request whose answer does not come whole, wherever it ends, is made again")
{
    Stage stage;
    for (const auto& call : calls) {
        for (const json& fault : std::initializer_list<json>{{{"drop", true}},
                                                             {{"drop", true}, {"reset", false}},
                                                             {{"lose_reply", true}},
                                                             {{"cut", 0}},
                                                             {{"cut", 0}, {"reset", false}},
                                                             {{"cut", 20}},
                                                             {{"cut", 20}, {"reset", false}}}) {
            CAPTURE(call.name);
            CAPTURE(fault.dump());
            const auto box = stage.create();
            static_cast<void>(stage.emulator.take_counts());
            CHECK(made_with(stage, call, box, fault).kind == "nothing");
            // 204 has no body that could be cut: then it was whole.
            CHECK(asked(stage, call) == (fault.contains("cut") && !has_body(call) ? 1 : 2));
            // The connection of half an answer is used by nobody else.
            const auto listed = stage.api.list({}, in_time());
            const auto books = stage.emulator.books();
            CHECK(listed.size() == books.running.size() + books.paused.size());
        }
    }
}

TEST_CASE("where no answer ever comes whole that is told, after three requests")
{
    Stage stage;
    for (const auto& call : calls) {
        CAPTURE(call.name);
        const auto box = stage.create();
        static_cast<void>(stage.emulator.take_counts());
        stage.waits.clear();
        const auto wrong = made_with(stage, call, box, {{"drop", true}, {"times", 0}});
        CHECK(wrong.kind == "broken");
        CHECK(wrong.code == ErrorCode::sandbox_unavailable);
        CHECK_FALSE(wrong.unsent);
        CHECK(asked(stage, call) == 3);
        CHECK(stage.waits.size() == 2);
        stage.emulator.clear_faults();
        CHECK(stage.api.info(box.id, in_time()).state == BoxState::running);
    }
}

TEST_CASE("a pause or an end that was done and not answered is done once, by E2B's word")
{
    Stage stage;
    const auto box = stage.create();
    const auto& pause = calls.at(4);
    inject(stage, pause, {{"lose_reply", true}});
    CHECK_FALSE(stage.api.pause(box.id, in_time())); // "already paused", says the second
    CHECK(stage.emulator.books().paused.contains(box.id));
    const auto& kill = calls.at(5);
    inject(stage, kill, {{"lose_reply", true}});
    CHECK_FALSE(stage.api.kill(box.id, in_time()));
    CHECK(stage.emulator.books().ended.at(box.id) == "killed");
}

TEST_CASE("half an answer with a proper end is no sandbox and no list")
{
    Stage stage;
    const auto box = stage.create();
    for (std::size_t i = 0; i < 4; ++i) {
        const auto& call = calls.at(i);
        CAPTURE(call.name);
        for (const int at : {0, 1, 30}) {
            CAPTURE(at);
            const auto wrong = made_with(stage, call, box, {{"end", at}});
            if (std::string(call.name) == "set_timeout") {
                CHECK(wrong.kind == "nothing");
            } else {
                CHECK(wrong.kind == "error");
                CHECK(wrong.code == ErrorCode::backend_error);
            }
        }
    }
}

TEST_CASE("who waits no longer is let go, and no call of later is answered with what comes late")
{
    Stage stage;
    const auto box = stage.create();
    for (const auto& call : calls) {
        CAPTURE(call.name);
        inject(stage, call, {{"delay", 1}});
        const auto wrong = wrong_of([&] { call.make(stage, box, Deadline::after(100ms)); });
        CHECK(wrong.kind == "expired");
        CHECK_FALSE(wrong.unsent);
    }
    // The kill arrives all the same.
    CHECK(becomes_true([&] { return stage.emulator.books().ended.contains(box.id); }));
    CHECK(wrong_of([&] { static_cast<void>(stage.api.info(box.id, in_time())); }).code ==
          ErrorCode::session_lost);
}

TEST_CASE("an answer that stops in its middle ends with the deadline")
{
    Stage stage;
    const auto box = stage.create();
    const auto& list = calls.at(3);
    inject(stage, list, {{"silent", 10}});
    const auto wrong = wrong_of([&] { list.make(stage, box, Deadline::after(500ms)); });
    CHECK(wrong.kind == "expired");
    CHECK(stage.api.list({}, in_time()).size() == 1);
}

TEST_CASE("another sandbox than the one that was asked for is left alone")
{
    Stage stage;
    const auto box = stage.create();
    const auto other = stage.create();
    for (const std::string id : {"iwrong", other.id.c_str(), "../x", ""}) {
        for (const std::size_t at : {std::size_t{0}, std::size_t{2}}) { // connect and info
            CAPTURE(id);
            if (id.empty()) {
                continue; // the emulator takes an empty one for none
            }
            const auto wrong = made_with(stage, calls.at(at), box, {{"id", id}});
            CHECK(wrong.kind == "error");
            CHECK(wrong.code == ErrorCode::backend_error);
        }
    }
    // With the client's part behind it, it is the same one.
    CHECK(made_with(stage, calls.at(0), box, {{"id", box.id + "-6532622b"}}).kind == "nothing");
}

TEST_CASE("a create that went wrong is never repeated, and its box is found by its nonce")
{
    Stage stage;
    int number = 0;
    for (const json& fault :
         std::initializer_list<json>{{{"lose_reply", true}},
                                     {{"cut", 0}},
                                     {{"cut", 40}},
                                     {{"cut", 40}, {"reset", false}},
                                     {{"end", 40}},
                                     {{"end", 0}},
                                     {{"id", "NOT AN ID"}},
                                     {{"drop", true}},
                                     {{"status", 500}},
                                     {{"status", 502}, {"body", html}},
                                     {{"status", 503}, {"headers", {{"Retry-After", "1"}}}},
                                     {{"status", 504}, {"body", ""}}}) {
        CAPTURE(fault.dump());
        const Metadata nonce = {{"berth-nonce", "a&b=c+d% " + std::to_string(++number)}};
        const Call create{"create", "POST", "/v2/sandboxes",
                          [&](Stage& on, const Box&, const Deadline& deadline) {
                              static_cast<void>(on.api.create({.metadata = nonce}, deadline));
                          }};
        static_cast<void>(stage.emulator.take_counts());
        const auto wrong = made_with(stage, create, {}, fault);
        CHECK(wrong.kind == "unknown outcome");
        CHECK_FALSE(wrong.retryable);
        CHECK(asked(stage, create) == 1);
        // Where the reply was lost there is one, where the request was there is none.
        const auto found = stage.api.list(nonce, in_time());
        const auto unknown = stage.unknown();
        REQUIRE(found.size() == unknown.size());
        const bool done = !fault.contains("status") && !fault.contains("drop");
        CHECK(unknown.size() == (done ? 1U : 0U));
        for (const auto& each : found) {
            CHECK(unknown.contains(each.box.id));
            stage.know(each.box.id);
            CHECK_FALSE(stage.api.connect(each.box.id, 60s, in_time()).box.envd_token.empty());
        }
    }
    CHECK(stage.waits.empty());
}

TEST_CASE("a create that was refused has made nothing, and is repeated where it was told when")
{
    Stage stage;
    const Call create{"create", "POST", "/v2/sandboxes",
                      [&](Stage& on, const Box&, const Deadline&) { on.create(); }};
    for (const auto& answer : answers) {
        const int status = answer.fault.at("status").get<int>();
        if (status >= 500) {
            continue;
        }
        CAPTURE(status);
        const auto wrong = made_with(stage, create, {}, answer.fault);
        CHECK(wrong.kind == answer.kind);
        CHECK(wrong.code == answer.code);
        CHECK(stage.emulator.books().running.empty());
    }
    CHECK(made_with(stage, create, {},
                    {{"status", 429}, {"headers", {{"Retry-After", "2"}}}, {"times", 3}})
              .kind == "nothing");
    CHECK(stage.waits == std::vector<std::chrono::milliseconds>(3, 2s));
    CHECK(stage.emulator.books().running.size() == 1);
}

TEST_CASE("a create whose answer is late has made a box, which is found")
{
    Stage stage;
    const Metadata nonce = {{"berth-nonce", "late"}};
    stage.emulator.fault({{"method", "POST"}, {"path", "/v2/sandboxes"}, {"delay", 1}});
    const auto wrong = wrong_of(
        [&] { static_cast<void>(stage.api.create({.metadata = nonce}, Deadline::after(200ms))); });
    CHECK(wrong.kind == "unknown outcome");
    CHECK(becomes_true([&] { return !stage.unknown().empty(); }));
    const auto found = stage.api.list(nonce, in_time());
    REQUIRE(found.size() == 1);
    stage.know(found.front().box.id);
}

TEST_CASE("a box that vanishes between two calls is lost by the word of the control plane alone")
{
    Stage stage;
    for (const auto& call : calls) {
        const std::string name = call.name;
        if (name == "list") { // which is about no box
            continue;
        }
        CAPTURE(name);
        const auto box = stage.create();
        const auto wrong = made_with(stage, call, box, {{"then", "vanish"}});
        CHECK(wrong.kind == (name == "kill" ? "nothing" : "status 404"));
        CHECK((name == "kill" || wrong.code == ErrorCode::session_lost));
        CHECK(stage.emulator.books().ended.at(box.id) == "vanished");
        CHECK(stage.api.list({}, in_time()).empty());
    }
}

TEST_CASE("a box that somebody else paused between two calls is told as it is")
{
    Stage stage;
    const auto box = stage.create();
    const auto paused_before = [&](std::size_t i) {
        const auto wrong = made_with(stage, calls.at(i), box, {{"then", "pause"}});
        static_cast<void>(stage.api.connect(box.id, 60s, in_time()));
        return wrong;
    };
    CHECK(paused_before(0).kind == "nothing");    // connect wakes it
    CHECK(paused_before(1).kind == "status 404"); // which time would that be
    CHECK(paused_before(2).kind == "nothing");
    CHECK(paused_before(4).kind == "nothing"); // pause: it is
}
