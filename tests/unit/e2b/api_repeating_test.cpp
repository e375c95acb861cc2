#include "sandbox/base/wait_bound.hpp"
#include "sandbox/e2b/api_client.hpp"
#include "tests/unit/e2b/control_plane.hpp"
#include "tests/unit/e2b/golden.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::ErrorCode;
using berth::e2b::ApiClient;
using berth::e2b::BoxState;
using berth::e2b::HttpFailure;
using berth::e2b::most_failures;
using berth::e2b::OutcomeUnknown;
using berth::tests::ControlPlane;
using berth::tests::error_of;
using berth::tests::reply;
using berth::tests::soon;
using berth::tests::WireRequest;
namespace golden = berth::tests::golden;

namespace {

const std::string id = "ig4bk8uibgn9atxd3rgqg";

} // namespace

TEST_CASE("a 429 that says when is asked again then, a create too")
{
    int left = 2;
    ControlPlane e2b([&](const WireRequest&) {
        return left-- > 0 ? reply(429, "", "Retry-After: 2\r\n") : reply(201, golden::box);
    });
    CHECK(e2b.client.create({}, soon()).id == id);
    CHECK(e2b.lines().size() == 3);
    CHECK(e2b.waits == std::vector<std::chrono::milliseconds>{2s, 2s});
}

TEST_CASE("a 429 of a quota is not asked again")
{
    ControlPlane e2b([](const WireRequest&) {
        return reply(429, R"({"code":429,"message":"maximum number"})");
    });
    CHECK(error_of([&] { static_cast<void>(e2b.client.create({}, soon())); }) ==
          ErrorCode::quota_exceeded);
    CHECK(e2b.lines().size() == 1);
}

TEST_CASE("a wait that would end after the deadline is not begun")
{
    ControlPlane e2b([](const WireRequest&) { return reply(429, "", "Retry-After: 60\r\n"); });
    CHECK(error_of([&] { static_cast<void>(e2b.client.info(id, soon())); }) == ErrorCode::busy);
    CHECK(e2b.lines().size() == 1);
    CHECK(e2b.waits.empty());
}

TEST_CASE("a 503 is asked again with a backoff, but not for ever")
{
    bool ever = false;
    SUBCASE("once") {}
    SUBCASE("for ever")
    {
        ever = true;
    }
    int asked = 0;
    ControlPlane e2b(
        [&](const WireRequest&) { return asked++ == 0 || ever ? reply(503, "") : reply(204, ""); });
    if (ever) {
        CHECK(error_of([&] { e2b.client.pause(id, Deadline()); }) ==
              ErrorCode::sandbox_unavailable);
        CHECK(asked == static_cast<int>(most_failures));
    } else {
        CHECK(e2b.client.pause(id, soon()));
        CHECK(e2b.waits == std::vector<std::chrono::milliseconds>{3s});
    }
}

TEST_CASE("a connection that ends before the answer is made anew, and not for ever")
{
    using Call = std::function<void(ApiClient&)>;
    const std::vector<Call> calls{
        [](ApiClient& client) { static_cast<void>(client.info(id, soon())); },
        [](ApiClient& client) { static_cast<void>(client.connect(id, 60s, soon())); },
        [](ApiClient& client) { static_cast<void>(client.list({}, soon())); },
        [](ApiClient& client) { client.set_timeout(id, 90s, soon()); },
        [](ApiClient& client) { client.set_network(id, {}, soon()); },
        [](ApiClient& client) { client.pause(id, soon()); },
        [](ApiClient& client) { client.kill(id, soon()); }};
    for (std::size_t i = 0; i < calls.size(); ++i) {
        for (const int ends : {1, 2, 3}) {
            CAPTURE(i);
            CAPTURE(ends);
            int left = ends;
            ControlPlane e2b([&](const WireRequest& request) {
                if (left-- > 0) {
                    return std::string();
                }
                return request.method == "GET" && request.target.starts_with("/v2")
                           ? reply(200, "[]")
                           : reply(200, golden::info);
            });
            if (ends < 3) {
                CHECK_NOTHROW(calls[i](e2b.client));
            } else {
                CHECK_THROWS_AS(calls[i](e2b.client), HttpFailure);
            }
            CHECK(e2b.lines().size() == static_cast<std::size_t>(std::min(ends + 1, 3)));
            const std::vector<std::chrono::milliseconds> all{200ms, 1s};
            CHECK(e2b.waits == std::vector(all.begin(), all.begin() + std::min(ends, 2)));
        }
    }
}

TEST_CASE("no connection is tried again where the time of the call ends before")
{
    ControlPlane e2b([](const WireRequest&) { return std::string(); });
    CHECK_THROWS_AS(static_cast<void>(e2b.client.info(id, Deadline::after(150ms))), HttpFailure);
    CHECK(e2b.lines().size() == 1);
}

TEST_CASE("a wait that would end after the deadline is shortened where nobody has said how long")
{
    std::string refusal = reply(503, "");
    std::size_t asked = 2;
    SUBCASE("503") {}
    SUBCASE("500")
    {
        refusal = reply(500, "");
    }
    SUBCASE("503 that says when")
    {
        refusal = reply(503, "", "Retry-After: 3\r\n");
        asked = 1;
    }
    int left = 1;
    ControlPlane e2b([&](const WireRequest&) { return left-- > 0 ? refusal : reply(204, ""); });
    const auto pause = [&] { e2b.client.pause(id, Deadline::after(2500ms)); };
    if (asked == 1) {
        CHECK(error_of(pause) == ErrorCode::sandbox_unavailable);
        CHECK(e2b.waits.empty());
    } else {
        CHECK_NOTHROW(pause());
        REQUIRE(e2b.waits.size() == 1);
        CHECK(e2b.waits.front() <= 1250ms);
        CHECK(e2b.waits.front() > 500ms);
    }
    CHECK(e2b.lines().size() == asked);
}

TEST_CASE("who leaves asks again while there is time for that, and waits longer for the answer")
{
    int left = 1;
    ControlPlane e2b([&](const WireRequest&) {
        if (left-- > 0) {
            return reply(503, "");
        }
        std::this_thread::sleep_for(1500ms); // the test's rests take no time
        return reply(204, "");
    });
    const berth::WaitBound bound({}, {}, Deadline::after(1400ms));
    CHECK(e2b.client.pause(id, soon()));
    REQUIRE(e2b.waits.size() == 1);
    CHECK(e2b.waits.front() <= 700ms);
    left = 1;
    CHECK(error_of([&] { e2b.client.pause(id, soon()); }) == ErrorCode::sandbox_unavailable);
    CHECK(e2b.lines().size() == 3);
}

TEST_CASE("a gateway that gives up is asked again, twice, and no create is")
{
    int status = 502;
    auto told = ErrorCode::sandbox_unavailable;
    SUBCASE("502") {}
    SUBCASE("500")
    {
        status = 500;
        told = ErrorCode::backend_error;
    }
    SUBCASE("504")
    {
        status = 504;
    }
    int left = 2;
    ControlPlane e2b([&](const WireRequest&) {
        return left-- > 0 ? reply(status, "<html>") : reply(200, golden::info);
    });
    CHECK(e2b.client.info(id, soon()).state == BoxState::paused);
    CHECK(e2b.waits == std::vector<std::chrono::milliseconds>{3s, 3s});
    left = 100;
    CHECK(error_of([&] { static_cast<void>(e2b.client.info(id, soon())); }) == told);
    CHECK(e2b.lines().size() == 6);
    CHECK_THROWS_AS(static_cast<void>(e2b.client.create({}, soon())), OutcomeUnknown);
    CHECK(e2b.lines().size() == 7);
}

TEST_CASE("a sandbox that is between two states is asked for again when it is not any more")
{
    std::vector<std::string> answers{
        reply(409, R"({"code":409,"message":"Sandbox \"ig4\" is being paused"})"),
        reply(409, golden::already_paused)};
    std::size_t asked = 0;
    ControlPlane e2b([&](const WireRequest&) { return answers.at(asked++); });
    CHECK_FALSE(e2b.client.pause(id, soon()));
    CHECK(e2b.waits == std::vector<std::chrono::milliseconds>{3s});
}

TEST_CASE("a stop request ends a wait and a call")
{
    std::stop_source stop;
    ControlPlane e2b([&](const WireRequest&) {
        stop.request_stop();
        return reply(503, "");
    });
    CHECK(error_of([&] { e2b.client.pause(id, soon(), stop.get_token()); }) ==
          ErrorCode::cancelled);
    CHECK(e2b.lines().size() == 1);
}
