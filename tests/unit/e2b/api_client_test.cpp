#include "sandbox/e2b/api_client.hpp"
#include "tests/unit/e2b/control_plane.hpp"
#include "tests/unit/e2b/golden.hpp"
#include "tests/unit/e2b/loopback_server.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::Error;
using berth::ErrorCode;
using berth::e2b::ApiClient;
using berth::e2b::BoxState;
using berth::e2b::HttpClient;
using berth::e2b::HttpFailure;
using berth::e2b::HttpSettings;
using berth::e2b::Metadata;
using berth::e2b::OutcomeUnknown;
using berth::e2b::StatusError;
using berth::tests::api_key;
using berth::tests::ControlPlane;
using berth::tests::error_of;
using berth::tests::LoopbackServer;
using berth::tests::reply;
using berth::tests::soon;
using berth::tests::WireRequest;
using nlohmann::json;
namespace golden = berth::tests::golden;

namespace {

const std::string id = "ig4bk8uibgn9atxd3rgqg";

using Lines = std::vector<std::string>;

} // namespace

TEST_CASE("a sandbox is made as the official client makes it")
{
    ControlPlane e2b([](const WireRequest&) { return reply(201, golden::box); });
    const auto box = e2b.client.create(
        {.template_id = "base",
         .timeout = 120s,
         .metadata = {{"a", "b c"}},
         .environment = {{"FOO", "bar"}},
         .auto_pause = true,
         .network = {.internet = false, .allow_out = {"1.1.1.1"}, .deny_out = {"0.0.0.0/0"}}},
        soon());
    CHECK(box.id == id);
    CHECK(box.envd_version == "0.6.13");
    CHECK(box.envd_token == "ea_93d6cf6d66c2900e6b07642dca728ab6");
    CHECK(box.domain.empty());
    CHECK(e2b.lines() == Lines{"POST /v2/sandboxes"});
    const auto request = e2b.request(0);
    CHECK(request.header("x-api-key") == api_key);
    CHECK(request.header("content-type") == "application/json");
    CHECK(request.header("accept") == "application/json");
    CHECK(request.header("idempotency-key") == "(none)");
    CHECK(json::parse(request.body) ==
          json::parse(R"({"templateID":"base","metadata":{"a":"b c"},"envVars":{"FOO":"bar"},
                          "timeout":120,"autoPause":true,"allow_internet_access":false,
                          "network":{"allowOut":["1.1.1.1"],"denyOut":["0.0.0.0/0"]}})"));
}

TEST_CASE("an older server is asked as v1, secured, and known from then on")
{
    int unknown = 404;
    SUBCASE("that says 404") {}
    SUBCASE("that says 405")
    {
        unknown = 405;
    }
    ControlPlane e2b([&](const WireRequest& request) {
        return request.target.starts_with("/v2/") ? reply(unknown, "") : reply(201, golden::box);
    });
    CHECK(e2b.client.create({}, soon()).id == id);
    CHECK(e2b.client.connect(id, 60s, soon()).resumed);
    CHECK(e2b.lines() ==
          Lines{"POST /v2/sandboxes", "POST /sandboxes", "POST /sandboxes/" + id + "/connect"});
    CHECK(json::parse(e2b.request(1).body).at("secure") == true);
    CHECK(json::parse(e2b.request(1).body).at("timeout") == 300);
    CHECK_FALSE(json::parse(e2b.request(0).body).contains("secure"));
}

TEST_CASE("a 404 about a template is told as such, and makes no old server of a new one")
{
    ControlPlane e2b([&](const WireRequest&) {
        return reply(404, R"({"code":404,"message":"template 'x' not found"})");
    });
    CHECK(error_of([&] { static_cast<void>(e2b.client.create({.template_id = "x"}, soon())); }) ==
          ErrorCode::not_found);
    CHECK(error_of([&] { static_cast<void>(e2b.client.create({.template_id = "x"}, soon())); }) ==
          ErrorCode::not_found);
    CHECK(e2b.lines().at(2) == "POST /v2/sandboxes");
}

TEST_CASE("a create whose outcome is not known is not asked again")
{
    std::string answer;
    SUBCASE("after 500")
    {
        answer = reply(500, R"({"code":500,"message":"Failed to place"})");
    }
    SUBCASE("after 503")
    {
        answer = reply(503, "");
    }
    SUBCASE("after 503 that says when")
    {
        answer = reply(503, "", "Retry-After: 1\r\n");
    }
    SUBCASE("after 504 of a proxy")
    {
        answer = reply(504, "upstream request timeout");
    }
    SUBCASE("after a success without an id")
    {
        answer = reply(201, "{}");
    }
    SUBCASE("after a success that is no JSON")
    {
        answer = reply(201, "<html>");
    }
    SUBCASE("after half an answer")
    {
        answer = reply(201, golden::box).substr(0, 200);
    }
    ControlPlane e2b([&](const WireRequest&) { return answer; });
    const auto deadline = Deadline::after(500ms); // of the half one
    CHECK_THROWS_AS(static_cast<void>(e2b.client.create({}, deadline)), OutcomeUnknown);
    CHECK(e2b.lines() == Lines{"POST /v2/sandboxes"});
    CHECK(e2b.waits.empty());
}

TEST_CASE("a create that was refused is no unknown outcome")
{
    ControlPlane e2b([&](const WireRequest&) { return reply(401, ""); });
    CHECK_THROWS_AS(static_cast<void>(e2b.client.create({}, soon())), StatusError);
}

TEST_CASE("a create that reached nobody is no unknown outcome")
{
    std::uint16_t port = 0;
    {
        LoopbackServer gone([](auto&) {});
        port = gone.port();
    }
    HttpClient http(HttpSettings{});
    ApiClient client(http, {.api_key = api_key,
                            .domain = {},
                            .api = {.tls = false, .host = "127.0.0.1", .port = port, .prefix = {}},
                            .sandbox = {}});
    CHECK_THROWS_AS(static_cast<void>(client.create({}, soon())), HttpFailure);
}

TEST_CASE("pause, kill, time limit")
{
    int status = 204;
    std::string body;
    ControlPlane e2b([&](const WireRequest&) { return reply(status, body); });
    CHECK(e2b.client.pause(id, soon()));
    CHECK(e2b.client.kill(id, soon()));
    e2b.client.set_timeout(id, 90s, soon());
    CHECK(e2b.lines() == Lines{"POST /sandboxes/" + id + "/pause", "DELETE /sandboxes/" + id,
                               "POST /sandboxes/" + id + "/timeout"});
    CHECK(e2b.request(0).body == "{}");
    CHECK(json::parse(e2b.request(2).body) == json{{"timeout", 90}});
    status = 409;
    body = golden::already_paused;
    CHECK_FALSE(e2b.client.pause(id, soon()));
    status = 404;
    body = golden::no_sandbox;
    CHECK_FALSE(e2b.client.kill(id, soon()));
    CHECK(error_of([&] { e2b.client.pause(id, soon()); }) == ErrorCode::session_lost);
    CHECK(error_of([&] { e2b.client.set_timeout(id, 90s, soon()); }) == ErrorCode::session_lost);
    CHECK(error_of([&] { static_cast<void>(e2b.client.info(id, soon())); }) ==
          ErrorCode::session_lost);
    CHECK(error_of([&] { static_cast<void>(e2b.client.connect(id, 9s, soon())); }) ==
          ErrorCode::session_lost);
}

TEST_CASE("a 404 that is not E2B's own ends nothing, and of two the one that is counts")
{
    std::string of_older = "<html>Not Found</html>";
    ControlPlane e2b([&](const WireRequest& request) {
        return reply(404, request.target.starts_with("/v2") ? "404 page not found" : of_older);
    });
    const auto connected = [&] { static_cast<void>(e2b.client.connect(id, 9s, soon())); };
    CHECK(error_of([&] { static_cast<void>(e2b.client.kill(id, soon())); }) ==
          ErrorCode::sandbox_unavailable);
    CHECK(error_of(connected) == ErrorCode::sandbox_unavailable);
    of_older = golden::no_sandbox;
    CHECK(error_of(connected) == ErrorCode::session_lost);
}

TEST_CASE("connect says whether it woke, and takes no other sandbox")
{
    int status = 200;
    std::string body(golden::box);
    ControlPlane e2b([&](const WireRequest&) { return reply(status, body); });
    CHECK_FALSE(e2b.client.connect(id, 60s, soon()).resumed);
    CHECK(e2b.lines() == Lines{"POST /v2/sandboxes/" + id + "/connect"});
    CHECK(json::parse(e2b.request(0).body) == json{{"timeout", 60}});
    status = 201;
    CHECK(e2b.client.connect(id + "-6532622b", 60s, soon()).resumed);
    body = R"({"sandboxID":"iother"})";
    CHECK(error_of([&] { static_cast<void>(e2b.client.connect(id, 60s, soon())); }) ==
          ErrorCode::backend_error);
    CHECK(error_of([&] { static_cast<void>(e2b.client.info(id, soon())); }) ==
          ErrorCode::backend_error);
}

TEST_CASE("what is known of a sandbox")
{
    ControlPlane e2b([](const WireRequest&) { return reply(200, golden::info); });
    const auto info = e2b.client.info(id, soon());
    CHECK(info.state == BoxState::paused);
    CHECK(info.end_at == "2026-11-20T11:33:35.992Z");
    CHECK(info.metadata == Metadata{{"a", "b c"}});
    CHECK(e2b.lines() == Lines{"GET /sandboxes/" + id});
}

TEST_CASE("an id that would be another path is not sent")
{
    ControlPlane e2b([](const WireRequest&) { return reply(204, ""); });
    for (const std::string bad : {"", "../teams", "a/b", "a?b", "A"}) {
        CHECK(error_of([&] { e2b.client.kill(bad, soon()); }) == ErrorCode::invalid_argument);
    }
    CHECK(e2b.lines().empty());
}

TEST_CASE("all pages of a list are read")
{
    ControlPlane e2b([](const WireRequest& request) {
        const auto page = "[" + std::string(golden::info) + "]";
        return request.target.find("nextToken") == std::string::npos
                   ? reply(200, page, "X-Next-Token: a=b/c\r\n")
                   : reply(200, page);
    });
    CHECK(e2b.client.list({{"a", "b c"}}, soon()).size() == 2);
    CHECK(e2b.lines() ==
          Lines{"GET /v2/sandboxes?state=running,paused&limit=100&metadata=a%3Db%252520c",
                "GET /v2/sandboxes?state=running,paused&limit=100&metadata=a%3Db%252520c"
                "&nextToken=a%3Db%2Fc"});
}

TEST_CASE("a server that passes over the filter of a list tells of nobody else's")
{
    ControlPlane e2b([](const WireRequest&) {
        return reply(200, "[" + std::string(golden::info) +
                              R"(,{"sandboxID":"izz","templateID":"base","state":"running"},)"
                              R"({"sandboxID":"izy","templateID":"base","state":"running",)"
                              R"("metadata":{"a":"c"}}])");
    });
    const auto boxes = e2b.client.list({{"a", "b c"}}, soon());
    REQUIRE(boxes.size() == 1);
    CHECK(boxes.front().box.id == "ig4bk8uibgn9atxd3rgqg");
    CHECK(e2b.client.list({{"a", "b c"}, {"more", ""}}, soon()).empty());
    CHECK(e2b.client.list({}, soon()).size() == 3);
}

TEST_CASE("a list whose pages do not end does")
{
    ControlPlane e2b([](const WireRequest&) { return reply(200, "[]", "X-Next-Token: more\r\n"); });
    CHECK(error_of([&] { static_cast<void>(e2b.client.list({}, soon())); }) ==
          ErrorCode::backend_error);
}

TEST_CASE("a list of an older server")
{
    ControlPlane e2b([](const WireRequest& request) {
        return request.target.starts_with("/v2") ? reply(404, "404 page not found")
                                                 : reply(200, "[]");
    });
    CHECK(e2b.client.list({{"a", "b"}}, soon()).empty());
    CHECK(e2b.lines().at(1) == "GET /sandboxes?metadata=a%3Db");
    CHECK(e2b.client.list({}, soon()).empty());
    CHECK(e2b.lines().at(2) == "GET /sandboxes");
}

TEST_CASE("an answer that is none is told without quoting it")
{
    std::string body;
    SUBCASE("no JSON")
    {
        body = "secret";
    }
    SUBCASE("another type")
    {
        body = R"(["secret"])";
    }
    SUBCASE("an id that is none")
    {
        body = R"({"sandboxID":"../secret"})";
    }
    SUBCASE("nested without end")
    {
        body = std::string(100'000, '[');
    }
    ControlPlane e2b([&](const WireRequest&) { return reply(200, body); });
    try {
        static_cast<void>(e2b.client.info(id, soon()));
        FAIL("taken");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::backend_error);
        CHECK(std::string(error.what()).find("secret") == std::string::npos);
    }
}

TEST_CASE("the key is in no error, whatever the server says")
{
    ControlPlane e2b([&](const WireRequest&) {
        return reply(401, R"({"code":401,"message":"bad key )" + api_key + "\"}");
    });
    try {
        static_cast<void>(e2b.client.create({}, soon()));
        FAIL("taken");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::authentication_required);
        CHECK((error.what() + error.hint()).find(api_key) == std::string::npos);
        CHECK(std::string(error.what()).find("bad key") != std::string::npos);
    }
}
