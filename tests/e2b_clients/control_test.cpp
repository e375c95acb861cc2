#include "tests/e2b_clients/stage.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using berth::ErrorCode;
using berth::e2b::ApiClient;
using berth::e2b::BoxState;
using berth::e2b::Metadata;
using berth::tests::becomes_true;
using berth::tests::in_time;
using berth::tests::Stage;
using berth::tests::wrong_of;
using nlohmann::json;

namespace {

std::set<std::string> ids_of(Stage& stage, const Metadata& metadata)
{
    std::set<std::string> ids;
    for (const auto& each : stage.api.list(metadata, in_time())) {
        ids.insert(each.box.id);
    }
    return ids;
}

/// Of RFC 3339 in UTC, which sorts as text.
bool is_moment(const std::string& text)
{
    return text.size() >= 20 && text.back() == 'Z' && text.at(10) == 'T';
}

} // namespace

TEST_CASE("a box is made, looked at, paused, woken and ended, and the books agree at each step")
{
    Stage stage;
    const Metadata metadata = {{"berth-owner", "a"}, {"berth-nonce", "n1"}};
    const auto box = stage.create({.metadata = metadata, .auto_pause = true});
    CHECK(stage.emulator.books().running == std::set{box.id});
    CHECK(box.envd_version == "0.6.13");
    CHECK(box.envd_token.starts_with("ea_"));
    CHECK(box.domain.empty());
    auto info = stage.api.info(box.id, in_time());
    CHECK(info.state == BoxState::running);
    CHECK(info.metadata == metadata);
    CHECK(info.box.envd_token == box.envd_token);
    CHECK(is_moment(info.started_at));
    CHECK(info.end_at > info.started_at);
    CHECK(stage.api.pause(box.id, in_time()));
    CHECK_FALSE(stage.api.pause(box.id, in_time()));
    CHECK(stage.emulator.books().paused == std::set{box.id});
    CHECK(stage.api.info(box.id, in_time()).state == BoxState::paused);
    CHECK(stage.emulator.books().paused == std::set{box.id}); // to look at it does not wake it
    const auto woken = stage.api.connect(box.id, 300s, in_time());
    CHECK(woken.resumed);
    CHECK(woken.box.id == box.id);
    CHECK(woken.box.envd_token == box.envd_token);
    CHECK_FALSE(stage.api.connect(box.id, 300s, in_time()).resumed);
    CHECK(stage.emulator.books().running == std::set{box.id});
    CHECK(stage.api.kill(box.id, in_time()));
    CHECK_FALSE(stage.api.kill(box.id, in_time()));
    CHECK(stage.emulator.books().ended.at(box.id) == "killed");
    CHECK(stage.waits.empty());
}

TEST_CASE("a paused box is ended as a running one is")
{
    Stage stage;
    const auto box = stage.create();
    CHECK(stage.api.pause(box.id, in_time()));
    CHECK(stage.api.kill(box.id, in_time()));
    CHECK(stage.emulator.books().ended.at(box.id) == "killed");
}

TEST_CASE("to connect extends the time of a box and never shortens it, to set it does both")
{
    Stage stage;
    const auto box = stage.create({.timeout = 600s});
    const auto end_at = [&] { return stage.api.info(box.id, in_time()).end_at; };
    const auto first = end_at();
    static_cast<void>(stage.api.connect(box.id, 60s, in_time()));
    CHECK(end_at() == first);
    static_cast<void>(stage.api.connect(box.id, 1200s, in_time()));
    const auto longer = end_at();
    CHECK(longer > first);
    stage.api.set_timeout(box.id, 300s, in_time());
    CHECK(end_at() < first);
    stage.api.set_timeout(box.id, 0s, in_time());
    CHECK(becomes_true([&] { return stage.emulator.books().ended.contains(box.id); }));
    CHECK(stage.emulator.books().ended.at(box.id) == "expired");
}

TEST_CASE("a box whose time runs out is paused where that was asked for, and ended where not")
{
    Stage stage;
    const auto kept = stage.create({.timeout = 1s, .auto_pause = true});
    const auto lost = stage.create({.timeout = 1s});
    CHECK(becomes_true([&] {
        const auto books = stage.emulator.books();
        return books.paused.contains(kept.id) && books.ended.contains(lost.id);
    }));
    CHECK(stage.api.connect(kept.id, 60s, in_time()).resumed);
    CHECK(wrong_of([&] { static_cast<void>(stage.api.connect(lost.id, 60s, in_time())); }).code ==
          ErrorCode::session_lost);
}

TEST_CASE("boxes are found by their metadata, whatever is in it")
{
    Stage stage;
    const std::vector<Metadata> kinds = {
        {{"k", "a b"}},
        {{"k", "a&b=c%d+e f"}},
        {{"k", "a+b"}},
        {{"k", "a%20b"}},
        {{"k", "a%2520b"}},
        {{"k", "\xc3\xa4 \xe2\x82\xac / ? # \" ' \\ ~ * ( ) !"}},
        {{"k=&%+ ", "v"}, {"other", "x&k=a b"}},
    };
    std::vector<std::string> ids;
    for (const auto& metadata : kinds) {
        ids.push_back(stage.create({.metadata = metadata}).id);
        CHECK(stage.api.info(ids.back(), in_time()).metadata == metadata);
    }
    CHECK(stage.api.pause(ids.at(1), in_time()));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        CHECK(ids_of(stage, kinds.at(i)) == std::set{ids.at(i)});
    }
    CHECK(ids_of(stage, {{"k", "b"}}).empty());
    CHECK(ids_of(stage, {{"other", "x"}}).empty());
    CHECK(ids_of(stage, {}) == std::set(ids.begin(), ids.end()));
    const auto paused = stage.api.list(kinds.at(1), in_time());
    REQUIRE(paused.size() == 1);
    CHECK(paused.front().state == BoxState::paused);
    CHECK(paused.front().metadata == kinds.at(1));
}

TEST_CASE("a server of before v2 is spoken to as such, and its boxes have a token too")
{
    Stage stage;
    stage.emulator.set({{"v2", false}, {"v2_list", false}});
    ApiClient& api = stage.api;
    const Metadata metadata = {{"berth-nonce", "a&b=c%d+e f"}};
    const auto box = stage.create({.metadata = metadata, .auto_pause = true});
    CHECK_FALSE(box.envd_token.empty());
    CHECK(stage.unknown().empty()); // the first version of the request has made none
    CHECK(ids_of(stage, metadata) == std::set{box.id});
    CHECK(stage.api.pause(box.id, in_time()));
    // The list of before v2 has none that is paused, and says so by leaving it out.
    CHECK(ids_of(stage, metadata).empty());
    CHECK(api.connect(box.id, 60s, in_time()).resumed);
    CHECK(wrong_of([&] {
              static_cast<void>(api.connect("i00000000000000000000", 60s, in_time()));
          }).code == ErrorCode::session_lost);
    auto counts = stage.emulator.take_counts();
    for (const char* path : {"POST /v2/sandboxes", "POST /sandboxes", "GET /v2/sandboxes"}) {
        CAPTURE(path);
        CHECK(counts["api " + std::string(path)] == 1); // it is asked once, and known then
    }
    CHECK(counts["api GET /sandboxes"] == 2);
    CHECK(counts["api POST /v2/sandboxes/{id}/connect"] == 0);
}

TEST_CASE("a server that has v2 of some calls alone is asked by it for those")
{
    Stage stage;
    stage.emulator.set({{"v2", false}}); // older than v2 of create, as others' servers are
    const auto box = stage.create({.metadata = {{"k", "v"}}});
    CHECK(stage.api.pause(box.id, in_time()));
    // By v1 the paused one would be none that there is, and nobody would ever end it.
    CHECK(ids_of(stage, {{"k", "v"}}) == std::set{box.id});
    CHECK(stage.api.connect(box.id, 60s, in_time()).resumed);
    stage.emulator.set({{"v2", true}, {"v2_list", false}});
    ApiClient other(stage.http, stage.emulator.settings());
    CHECK(other.list({{"k", "v"}}, in_time()).size() == 1);
    CHECK_FALSE(other.connect(box.id, 60s, in_time()).resumed);
    auto counts = stage.emulator.take_counts();
    CHECK(counts["api GET /v2/sandboxes"] == 2);
    CHECK(counts["api GET /sandboxes"] == 1);
}

TEST_CASE("a list of many pages comes whole, each box once")
{
    Stage stage;
    stage.emulator.set({{"page", 2}});
    const Metadata metadata = {{"all", "y&s"}};
    std::set<std::string> ids;
    for (int i = 0; i < 5; ++i) {
        ids.insert(stage.create({.metadata = metadata}).id);
    }
    stage.create();
    CHECK(stage.api.pause(*ids.begin(), in_time()));
    CHECK(stage.api.list(metadata, in_time()).size() == ids.size());
    CHECK(ids_of(stage, metadata) == ids);
    CHECK(stage.emulator.take_counts().at("api GET /v2/sandboxes") == 6);
}

TEST_CASE("what is refused for good says so, and makes nothing")
{
    Stage stage;
    CHECK(wrong_of([&] { stage.create({.timeout = 0s}); }).kind == "status 400");
    CHECK(wrong_of([&] { stage.create({.timeout = 25h}); }).code == ErrorCode::invalid_argument);
    const auto box = stage.create();
    CHECK(wrong_of([&] { stage.api.set_timeout(box.id, 25h, in_time()); }).kind == "nothing");
    stage.emulator.set({{"concurrent", 1}});
    const auto full = wrong_of([&] { stage.create(); });
    CHECK(full.kind == "status 429");
    CHECK(full.code == ErrorCode::quota_exceeded);
    CHECK_FALSE(full.retryable);
    CHECK(stage.api.pause(box.id, in_time()));
    // A paused one has no time that could be set, and to the control plane it is not there.
    CHECK(wrong_of([&] { stage.api.set_timeout(box.id, 60s, in_time()); }).kind == "status 404");
    CHECK(stage.api.info(box.id, in_time()).state == BoxState::paused);
    auto settings = stage.emulator.settings();
    settings.api_key = "e2b_00000000";
    ApiClient stranger(stage.http, settings);
    const auto refused = wrong_of([&] { static_cast<void>(stranger.list({}, in_time())); });
    CHECK(refused.code == ErrorCode::authentication_required);
    CHECK(refused.message.find(settings.api_key) == std::string::npos);
}

TEST_CASE("connections that the server has closed meanwhile are not met again")
{
    Stage stage;
    // Far from each other: a request that crosses the close is lost, and told as that.
    stage.emulator.set({{"idle_seconds", 0.5}});
    const auto box = stage.create();
    for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(2s);
        CHECK(stage.api.info(box.id, in_time()).state == BoxState::running);
    }
    CHECK(stage.emulator.take_counts().at("connections") == 4);
}
