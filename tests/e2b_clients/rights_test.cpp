// A server whose right to a session passes on while E2B is slow to answer does nothing to the box
// any more, which is another's by then.

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "tests/e2b_clients/cloud.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

using namespace berth;
using namespace berth::tests;

namespace {

struct Passing : Cloudy {
    int asked = 0;
    int granted = 0; ///< so often it is its right

    sandbox::Right right()
    {
        return [this] {
            if (++asked > granted) {
                throw Error(ErrorCode::busy, "the right has passed to another server");
            }
        };
    }

    [[nodiscard]] static bool is_refused(const std::function<void()>& act)
    {
        try {
            act();
        } catch (const Error& error) {
            return error.code() == ErrorCode::busy;
        }
        return false;
    }

    /// Of requests that change something.
    std::size_t changes()
    {
        auto counts = emulator.take_counts();
        return static_cast<std::size_t>(
            counts["api DELETE /sandboxes/{id}"] + counts["api POST /sandboxes/{id}/pause"] +
            counts["api PUT /sandboxes/{id}/network"] + counts["envd POST /process.Process/Start"]);
    }
};

} // namespace

TEST_CASE("a box is neither ended nor made to sleep by who has lost the right to it")
{
    Passing cloud;
    for (const bool purge : {false, true}) {
        CAPTURE(purge);
        (void)cloud.changes();
        CHECK(cloud.is_refused(
            [&] { cloud.backend->destroy_while(cloud.record, purge, cloud.right()); }));
        CHECK(cloud.changes() == 0);
        CHECK(cloud.out_of("echo there") == "there\n");
    }
}

TEST_CASE("what is asked for again after a refusal is, where the right has not passed on meanwhile")
{
    Passing cloud;
    cloud.emulator.fault({{"plane", "api"},
                          {"path", "/sandboxes/{id}"},
                          {"method", "DELETE"},
                          {"status", 503},
                          {"headers", {{"Retry-After", "1"}}},
                          {"times", 1}});
    cloud.granted = 1;
    CHECK(cloud.is_refused(
        [&] { cloud.backend->destroy_while(cloud.record, /*purge=*/true, cloud.right()); }));
    CHECK(cloud.asked == 2);
    CHECK(cloud.out_of("echo there") == "there\n");
    cloud.granted = 10;
    cloud.backend->destroy_while(cloud.record, /*purge=*/true, cloud.right());
    CHECK(cloud.backend->is_gone(cloud.record));
}

TEST_CASE("a network is not changed by who has lost the right to")
{
    Passing cloud;
    (void)cloud.changes();
    CHECK(cloud.is_refused([&] {
        (void)cloud.backend->change_network(cloud.record, {.network = sandbox::Network::none},
                                            cloud.right());
    }));
    CHECK(cloud.changes() == 0);
    cloud.backend->destroy(cloud.record, false);
    auto spec = fresh_spec();
    spec.key_hash = cloud.spec.key_hash;
    spec.generation = random_hex(16);
    spec.home = cloud.record.home;
    spec.network = sandbox::Network::host;
    spec.require_right = cloud.right();
    (void)cloud.changes();
    CHECK(cloud.is_refused([&] { (void)cloud.create(spec); }));
    CHECK(cloud.changes() == 0);
}
