#include "server/http/legacy_sessions.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/server/http/tenant_bench.hpp"
#include "tests/unit/server/recording_sink.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using namespace std::chrono_literals;
using berth::tests::becomes_true;
using nlohmann::json;

namespace {

const LegacyOwner alice{.principal = "alice"};
const LegacyOwner bob{.principal = "bob"};

struct LegacyBench : berth::tests::TenantBench {
    LegacyBench()
    {
        backend->before_ready = [this] {
            ++calls;
            CHECK(becomes_true([&] { return released.load(); }));
        };
        tenant = std::make_shared<Tenant>(make("work"), pool);
    }

    ~LegacyBench() { released = true; }

    LegacyBench(const LegacyBench&) = delete;
    LegacyBench& operator=(const LegacyBench&) = delete;

    void say(LegacySession& session, const std::string& method, json params, const json& id)
    {
        json message{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
        if (!id.is_null()) {
            message["id"] = id;
        }
        session.dispatcher().receive(rpc::take_message(std::move(message)), {.sink = sink});
    }

    /// A call that is at work until it is released.
    void call(LegacySession& session)
    {
        const auto before = calls.load();
        say(session, "initialize",
            {{"protocolVersion", "2025-06-18"},
             {"capabilities", json::object()},
             {"clientInfo", {{"name", "test"}, {"version", "1"}}}},
            "begin");
        CHECK(sink->wait(1).size() == 1);
        (void)sink->take();
        say(session, "tools/call", {{"name", "bash_exec"}, {"arguments", {{"command", "true"}}}},
            "call");
        CHECK(becomes_true([&] { return calls == before + 1; }));
    }

    std::atomic<int> calls{0};
    std::atomic<bool> released{false};
    std::shared_ptr<test::RecordingSink> sink = std::make_shared<test::RecordingSink>();
    std::shared_ptr<Tenant> tenant;
};

constexpr auto no_end = 1h;

} // namespace

TEST_CASE("the id of a session is long, of visible characters, and never the same")
{
    std::set<std::string> ids;
    for (int i = 0; i < 1000; ++i) {
        const auto id = LegacySessions::make_id();
        CHECK(id.size() == 32);
        CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
        ids.insert(id);
    }
    CHECK(ids.size() == 1000);
}

TEST_CASE("a session is found by its id, its principal and what holds for that one alone")
{
    LegacyBench bench;
    LegacySessions sessions(bench.pool, no_end);
    sessions.add("one", alice, bench.tenant);
    sessions.add("two", alice, bench.tenant);
    const auto found = sessions.find("one", alice);
    REQUIRE(found);
    CHECK(found->owner() == alice);
    const LegacyOwner other{.principal = "alice", .settings = {{"profile", "strict"}}};
    CHECK(sessions.find("one", other) == nullptr); // a token of less
    CHECK_FALSE(sessions.end("one", other));
    CHECK(sessions.find("one", alice) == found);
    CHECK(sessions.find("two", alice) != found);
    CHECK(sessions.find("one", bob) == nullptr);
    CHECK(sessions.find("", alice) == nullptr);
    CHECK_FALSE(sessions.end("one", bob));
    CHECK_FALSE(sessions.end("three", alice));
    CHECK(sessions.count() == 2);
    CHECK(sessions.end("one", alice));
    CHECK_FALSE(sessions.end("one", alice));
    CHECK(sessions.find("one", alice) == nullptr);
    CHECK(sessions.count() == 1);
}

TEST_CASE("a session without a request ends, one with a call does not")
{
    LegacyBench bench;
    LegacySessions sessions(bench.pool, 0ms);
    sessions.add("idle", alice, bench.tenant);
    sessions.add("busy", alice, bench.tenant);
    const auto busy = sessions.find("busy", alice);
    bench.call(*busy);
    CHECK(becomes_true([&] { // a moment later than its last use
        sessions.sweep();
        return sessions.count() == 1;
    }));
    CHECK(sessions.find("busy", alice) == busy);
    bench.released = true;
    CHECK(becomes_true([&] {
        sessions.sweep();
        return sessions.count() == 0;
    }));
}

TEST_CASE("sessions of an owner who can come no more end once they have no call")
{
    LegacyBench bench;
    LegacySessions sessions(bench.pool, no_end);
    sessions.add("idle", alice, bench.tenant);
    sessions.add("busy", alice, bench.tenant);
    sessions.add("other", bob, bench.tenant);
    bench.call(*sessions.find("busy", alice));
    sessions.leave(alice);
    sessions.sweep();
    CHECK(sessions.count() == 2);
    bench.released = true;
    CHECK(becomes_true([&] {
        sessions.sweep();
        return sessions.count() == 1;
    }));
    CHECK(sessions.find("other", bob));
}

TEST_CASE("a session that is used does not end")
{
    LegacyBench bench;
    LegacySessions sessions(bench.pool, no_end);
    sessions.add("one", alice, bench.tenant);
    sessions.sweep();
    CHECK(sessions.count() == 1);
}

TEST_CASE("the end of a session stops its calls, which are answered all the same")
{
    for (const bool all : {false, true}) {
        CAPTURE(all);
        LegacyBench bench;
        LegacySessions sessions(bench.pool, no_end);
        sessions.add("one", alice, bench.tenant);
        const auto session = sessions.find("one", alice);
        bench.call(*session);
        if (all) {
            sessions.stop_calls();
        } else {
            CHECK(sessions.end("one", alice));
        }
        CHECK_FALSE(session->dispatcher().drain(Deadline::after(1ms)));
        bench.released = true;
        CHECK(session->dispatcher().drain(Deadline::after(30s)));
        const auto answers = bench.sink->take();
        REQUIRE(answers.size() == 1);
        CHECK(answers[0]["id"] == "call");
    }
}

TEST_CASE("of one principal so many are there, and the one unused for longest ends")
{
    LegacyBench bench;
    LegacySessions sessions(bench.pool, no_end);
    sessions.add("bob", bob, bench.tenant);
    for (std::size_t i = 0; i < LegacySessions::most_per_principal; ++i) {
        sessions.add(std::to_string(i), alice, bench.tenant);
    }
    CHECK(sessions.count() == LegacySessions::most_per_principal + 1);
    CHECK(sessions.find("0", alice) != nullptr); // used again
    sessions.add("new", alice, bench.tenant);
    CHECK(sessions.count() == LegacySessions::most_per_principal + 1);
    CHECK(sessions.find("0", alice) != nullptr);
    CHECK(sessions.find("1", alice) == nullptr);
    CHECK(sessions.find("new", alice) != nullptr);
    CHECK(sessions.find("bob", bob) != nullptr);
}

TEST_CASE("a session that is at work makes no room for a new one, which would wait for its end")
{
    LegacyBench bench;
    LegacySessions sessions(bench.pool, no_end);
    sessions.add("busy", alice, bench.tenant);
    bench.call(*sessions.find("busy", alice));
    for (std::size_t i = 0; i < LegacySessions::most_per_principal; ++i) {
        sessions.add(std::to_string(i), alice, bench.tenant);
    }
    CHECK(sessions.find("busy", alice) != nullptr);
    CHECK(sessions.find("0", alice) == nullptr);
    CHECK_FALSE(bench.released);
    bench.released = true;
}

TEST_CASE("only a session makes room for another one whose tenant nobody else holds")
{
    LegacyBench bench;
    LegacySessions sessions(bench.pool, no_end);
    const auto alone = [&](const std::string& name) {
        return std::make_shared<Tenant>(bench.make(name), bench.pool);
    };
    const std::vector tenants{alone("one"), alone("two"), alone("three")}; // as Tenants has them
    sessions.add("shared", alice, bench.tenant);
    sessions.add("shared too", alice, bench.tenant);
    CHECK_FALSE(sessions.end_idle_of("alice"));
    sessions.add("asked", alice, tenants[0]);
    sessions.add("first", alice, tenants[1]);
    sessions.add("second", alice, tenants[2]);
    sessions.add("bob", bob, alone("other"));
    const auto asked = sessions.find("asked", alice);
    CHECK(sessions.end_idle_of("alice"));
    CHECK(sessions.find("first", alice) == nullptr);
    CHECK(sessions.end_idle_of("alice"));
    CHECK_FALSE(sessions.end_idle_of("alice"));
    for (const auto* kept : {"shared", "shared too", "asked"}) {
        CHECK(sessions.find(kept, alice) != nullptr);
    }
    CHECK(sessions.find("bob", bob) != nullptr);
    CHECK(sessions.end("shared", alice));
    CHECK(sessions.end_idle_of("alice")); // the other has it alone now
    CHECK(sessions.count() == 2);
}

TEST_CASE("nor does one with a call")
{
    LegacyBench bench;
    LegacySessions sessions(bench.pool, no_end);
    sessions.add("busy", alice, bench.tenant);
    bench.call(*sessions.find("busy", alice));
    CHECK_FALSE(sessions.end_idle_of("alice"));
    CHECK_FALSE(bench.released);
    bench.released = true;
}
