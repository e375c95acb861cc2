#include "sandbox/base/error.hpp"
#include "server/http/tenants.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/server/http/tenant_bench.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using namespace std::chrono_literals;
using berth::tests::becomes_true;
using berth::tests::caller_of;
using berth::tests::error_of;

namespace {

/// Longer than any host has been up: nothing is idle for so long.
constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365 * 100);

struct TenantsBench : berth::tests::TenantBench {
    std::unique_ptr<Tenants> start(std::chrono::milliseconds idle = for_ever)
    {
        return std::make_unique<Tenants>(
            [this](const Caller& /*caller*/, const std::string& session) {
                if (session == "slow") {
                    ++waiting;
                    CHECK(becomes_true([&] { return released.load(); }));
                }
                if (session == "bad" && ++failed == 1) {
                    throw Error(ErrorCode::invalid_argument, "cannot be served", "");
                }
                ++made;
                return make(session);
            },
            pool, idle);
    }

    std::atomic<int> made{0};
    std::atomic<int> failed{0};
    std::atomic<int> waiting{0};
    std::atomic<bool> released{false};
};

} // namespace

TEST_CASE("who calls one session at once gets one tenant")
{
    TenantsBench bench;
    const auto tenants = bench.start();
    const auto caller = caller_of("alice");
    constexpr std::size_t count = 8;
    std::vector<std::shared_ptr<Tenant>> got(count);
    {
        std::latch begin(count);
        std::vector<std::jthread> threads;
        for (auto& each : got) {
            threads.emplace_back([&] {
                begin.arrive_and_wait();
                each = tenants->get(caller, "work");
            });
        }
    }
    CHECK(bench.made == 1);
    for (const auto& each : got) {
        CHECK(each != nullptr);
        CHECK(each == got.front());
    }
    CHECK(tenants->count() == 1);
}

TEST_CASE("a session is not left as soon as a long call of it has ended")
{
    TenantsBench bench;
    const auto tenants = bench.start(3s);
    const auto caller = caller_of("alice");
    auto tenant = tenants->get(caller, "work");
    std::this_thread::sleep_for(3500ms); // it is at work
    tenant->note_use();
    tenant.reset();
    std::this_thread::sleep_for(1200ms); // the sweeper has come by
    CHECK(tenants->count() == 1);
    CHECK(becomes_true([&] { return tenants->count() == 0; }));
}

TEST_CASE("sessions are of a principal and of what holds for its caller")
{
    TenantsBench bench;
    const auto tenants = bench.start();
    auto strict = caller_of("alice");
    strict.settings["profile"] = "strict";
    const auto first = tenants->get(caller_of("alice"), "work");
    CHECK(tenants->get(caller_of("alice"), "work") == first); // whatever its account is
    CHECK(tenants->get(caller_of("alice"), "other") != first);
    CHECK(tenants->get(caller_of("bob"), "work") != first);
    CHECK(tenants->get(strict, "work") != first);
    CHECK(tenants->count() == 4);
    int visited = 0;
    tenants->for_each([&](Tenant& tenant) { visited += &tenant == first.get() ? 100 : 1; });
    CHECK(visited == 103);
}

TEST_CASE("what is there for who can come no more is left once it has no call")
{
    TenantsBench bench;
    const auto tenants = bench.start();
    auto strict = caller_of("alice");
    strict.settings["profile"] = "strict";
    auto busy = tenants->get(caller_of("alice"), "busy");
    (void)tenants->get(caller_of("alice"), "idle");
    (void)tenants->get(strict, "idle");
    (void)tenants->get(caller_of("bob"), "idle");
    tenants->leave(caller_of("alice"));
    CHECK(becomes_true([&] { return tenants->count() == 3; }));
    std::this_thread::sleep_for(1200ms); // the sweeper has come by
    CHECK(tenants->count() == 3);
    busy.reset();
    CHECK(becomes_true([&] { return tenants->count() == 2; }));
    // Also of an entry that had another number of sessions when it was made.
    auto wide = caller_of("bob");
    wide.settings["session.max_per_principal"] = "8";
    auto narrow = wide;
    narrow.settings["session.max_per_principal"] = "4";
    (void)tenants->get(wide, "wide");
    tenants->leave(narrow);
    CHECK(becomes_true([&] { return tenants->count() == 1; })); // the strict one of alice
}

TEST_CASE("a session that takes long to make keeps no other waiting")
{
    TenantsBench bench;
    const auto tenants = bench.start(1ms);
    std::jthread slow([&] { CHECK(tenants->get(caller_of("alice"), "slow") != nullptr); });
    CHECK(becomes_true([&] { return bench.waiting == 1; }));
    CHECK(tenants->get(caller_of("alice"), "fast") != nullptr);
    int visited = 0;
    tenants->for_each([&](Tenant&) { ++visited; });
    CHECK(visited <= 1);
    CHECK(becomes_true([&] { return tenants->count() == 1; })); // one being made is not left
    bench.released = true;
}

TEST_CASE("a session that could not be made is tried again")
{
    TenantsBench bench;
    const auto tenants = bench.start();
    const auto caller = caller_of("alice");
    CHECK(error_of([&] { (void)tenants->get(caller, "bad"); }) == ErrorCode::invalid_argument);
    CHECK(tenants->get(caller, "bad") != nullptr);
    CHECK(bench.made == 1);
}

TEST_CASE("a session that nobody calls is left, one that has a request is not")
{
    TenantsBench bench;
    const auto tenants = bench.start(1ms);
    const auto caller = caller_of("alice");
    const auto held = tenants->get(caller, "held");
    std::weak_ptr<Tenant> idle = tenants->get(caller, "idle");
    CHECK(becomes_true([&] { return tenants->count() == 1; }));
    CHECK(becomes_true([&] { return idle.expired(); }));
    CHECK(tenants->get(caller, "held") == held);
    CHECK(bench.made == 2);
    CHECK(tenants->get(caller, "idle") != nullptr); // and comes again
    CHECK(bench.made == 3);
}

TEST_CASE("those that nobody calls are left side by side, and a server that ends sees to them too")
{
    constexpr std::size_t count = 3;
    TenantsBench bench;
    std::atomic<std::size_t> ending{0};
    std::atomic<bool> released{false};
    bench.backend->before_end = [&] {
        ++ending;
        (void)becomes_true([&] { return released.load(); });
    };
    const auto tenants = bench.start();
    const auto caller = caller_of("alice");
    for (std::size_t i = 0; i < count; ++i) {
        auto tenant = tenants->get(caller, std::to_string(i));
        (void)tenant->application().sessions().acquire({"alice", "", {std::to_string(i)}});
    }
    tenants->leave(caller);
    CHECK(becomes_true([&] { return ending == count; }));
    CHECK(tenants->count() == 0);
    CHECK(tenants->all().size() == count);
    {
        // What has been begun is done when who ends them too goes on.
        const auto all = tenants->all();
        std::jthread release([&] {
            std::this_thread::sleep_for(300ms);
            released = true;
        });
        for (const auto& tenant : all) {
            tenant->application().sessions().close();
        }
        CHECK(released);
        CHECK(bench.backend->count("purge") == static_cast<int>(count));
    }
    CHECK(becomes_true([&] { return tenants->all().empty(); }));
}

TEST_CASE("names that a client makes up take no room without end")
{
    TenantsBench bench;
    const auto tenants = bench.start();
    const auto caller = caller_of("alice");
    const auto other = tenants->get(caller_of("bob"), "work");
    constexpr int more = 20;
    const auto first = tenants->get(caller, "0");
    for (std::size_t i = 1; i < Tenants::most_per_principal + more; ++i) {
        (void)tenants->get(caller, std::to_string(i));
    }
    CHECK(becomes_true([&] { return tenants->count() == Tenants::most_per_principal + 1; }));
    CHECK(tenants->get(caller, "0") == first); // the longest unused, but in use
    const auto made = bench.made.load();
    (void)tenants->get(caller, std::to_string(Tenants::most_per_principal));
    CHECK(bench.made == made); // those that were called last are there
    (void)tenants->get(caller, "1");
    CHECK(bench.made == made + 1); // the oldest is not
    CHECK(tenants->get(caller_of("bob"), "work") == other);
}

TEST_CASE("where all sessions of a principal have calls, a new one is refused")
{
    TenantsBench bench;
    const auto tenants = bench.start();
    const auto caller = caller_of("alice");
    std::vector<std::shared_ptr<Tenant>> held;
    for (std::size_t i = 0; i < Tenants::most_per_principal; ++i) {
        held.push_back(tenants->get(caller, std::to_string(i)));
    }
    CHECK_THROWS_AS((void)tenants->get(caller, "new"), AllHeld);
    CHECK(error_of([&] { (void)tenants->get(caller, "new"); }) == ErrorCode::busy);
    CHECK(tenants->get(caller, "7") == held[7]);
    CHECK(tenants->get(caller_of("bob"), "new") != nullptr);
    held.pop_back();
    CHECK(tenants->get(caller, "new") != nullptr);
}

TEST_CASE("what is called again before it was left stays")
{
    TenantsBench bench;
    const auto tenants = bench.start();
    const auto caller = caller_of("alice");
    for (std::size_t i = 0; i < Tenants::most_per_principal; ++i) {
        (void)tenants->get(caller, std::to_string(i));
    }
    (void)tenants->get(caller, "new"); // "0" is to go
    const auto again = tenants->get(caller, "0");
    CHECK(becomes_true([&] { return tenants->count() == Tenants::most_per_principal; }));
    CHECK(tenants->get(caller, "0") == again);
}

TEST_CASE("where many are being left at once, a new one has to wait, and none need be ended for it")
{
    TenantsBench bench;
    const auto tenants = bench.start();
    const auto caller = caller_of("alice");
    std::vector<std::shared_ptr<Tenant>> held;
    for (std::size_t i = 0; i < Tenants::most_per_principal; ++i) {
        auto tenant = tenants->get(caller, std::to_string(i));
        if (i % 2 == 0) {
            held.push_back(std::move(tenant));
        }
    }
    std::string refused;
    constexpr int more_than_are_swept_meanwhile = 10'000;
    for (int i = 0; i < more_than_are_swept_meanwhile && refused.empty(); ++i) {
        try {
            (void)tenants->get(caller, "new" + std::to_string(i));
        } catch (const AllHeld& error) {
            refused = "all are held";
        } catch (const Error& error) {
            refused = error.code() == ErrorCode::busy ? error.what() : "not busy";
        }
    }
    CHECK(refused == "64 sessions of this principal are being left");
}
