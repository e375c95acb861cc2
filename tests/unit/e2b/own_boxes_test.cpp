#include "sandbox/e2b/own_boxes.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using e2b::BoxInfo;
using e2b::BoxState;

namespace {

BoxInfo box(const std::string& id)
{
    BoxInfo info;
    info.box.id = id;
    info.state = BoxState::paused;
    info.end_at = "2026-01-02T03:04:05Z";
    info.metadata = {{"berth_owner", "ours"}, {"berth_generation", "g1"}, {"berth_key", "k1"}};
    return info;
}

std::vector<std::string> found(const std::vector<BoxInfo>& boxes,
                               std::chrono::system_clock::time_point now,
                               const std::string& owner = "ours")
{
    std::vector<std::string> ids;
    for (const auto& machine : e2b::own_machines(boxes, owner, now)) {
        CHECK((machine.slept == 0s || machine.slept == 3599s || machine.slept == 3600s));
        CHECK(machine.record.generation == "g1");
        CHECK(machine.record.data.at("key_hash") == "k1");
        ids.push_back(machine.record.id);
    }
    return ids;
}

using Ids = std::vector<std::string>;

} // namespace

TEST_SUITE("e2b/own_boxes")
{
    const auto slept = std::chrono::system_clock::from_time_t(1'767'323'045); // as end_at above

    TEST_CASE("what sleeps, by any way to write since when")
    {
        auto parts = box("parts");
        parts.end_at = "2026-01-02T03:04:05.999999999Z";
        const std::vector boxes{box("plain"), parts};
        CHECK(found(boxes, slept) == Ids{"plain", "parts"});
        CHECK(found(boxes, slept + 1h) == Ids{"plain", "parts"});
        CHECK(found(boxes, slept - 1s).empty());
    }

    TEST_CASE("how long it sleeps is by the earlier of the two clocks")
    {
        auto told = box("told");
        told.told_at = "Fri, 02 Jan 2026 04:04:05 GMT";
        CHECK(e2b::slept(told, slept + 8760h) == 3600s);
        CHECK(e2b::slept(told, slept + 1min) == 60s);
        for (const auto* none : {"", "Fri, 02 Jan 2026 04:04:05", "2026-01-02T04:04:05Z"}) {
            told.told_at = none;
            CHECK(e2b::slept(told, slept + 2h) == 7200s);
        }
    }

    TEST_CASE("nothing that is another's, or does not say what it is, whatever was listed")
    {
        auto other = box("other");
        other.metadata["berth_owner"] = "theirs";
        auto own = box("own");
        own.metadata = {{"project", "mine"}};
        auto numberless = box("numberless");
        numberless.metadata.erase("berth_generation");
        auto keyless = box("keyless");
        keyless.metadata.erase("berth_key");
        auto runs = box("runs");
        runs.state = BoxState::running;
        auto unknown = box("unknown");
        unknown.state = BoxState::other;
        auto timeless = box("timeless");
        timeless.end_at.clear();
        auto zone = box("zone");
        zone.end_at = "2026-01-02T03:04:05+09:00";
        CHECK(found({other, own, numberless, keyless, runs, unknown, timeless, zone}, slept + 1h)
                  .empty());
        own.metadata["berth_owner"] = "";
        CHECK(found({own}, slept + 1h, "").empty());
    }
}
