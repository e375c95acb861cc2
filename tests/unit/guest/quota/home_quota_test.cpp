#include "sandbox/guest/quota/home_quota.hpp"
#include "sandbox/guest/quota/quota_share.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using berth::ErrorCode;
using berth::guest::HomeQuota;
using berth::guest::QuotaShare;
using berth::guest::testing::error_of;
using berth::guest::testing::Machine;

namespace {

constexpr std::uint64_t mebibyte = 1024UL * 1024;

struct Limited : Machine {
    Limited() { config.quota = 4 * mebibyte; }

    HomeQuota& quota()
    {
        if (!quota_) {
            quota_.emplace(config);
        }
        return *quota_;
    }

    QuotaShare share(const std::string& name) { return {&quota(), home + "/" + name}; }

    std::uint64_t used()
    {
        const auto state = quota().state();
        REQUIRE(state.used);
        return *state.used;
    }

  private:
    std::optional<HomeQuota> quota_;
};

} // namespace

TEST_CASE("what is being written counts, and is given back unless it is kept")
{
    Limited machine;
    machine.quota().count();
    const auto empty = machine.used();
    {
        auto share = machine.share("a");
        share.grow_to(mebibyte, {});
        CHECK(machine.used() == empty + mebibyte);
        share.grow_to(mebibyte / 2, {});
        CHECK(machine.used() == empty + mebibyte);
    }
    CHECK(machine.used() == empty);
    {
        auto share = machine.share("a");
        share.grow_to(3 * mebibyte, {});
        share.keep(mebibyte);
    }
    CHECK(machine.used() == empty + 2 * mebibyte);
}

TEST_CASE("two that write at once do not get the same room")
{
    Limited machine;
    auto one = machine.share("one");
    auto other = machine.share("other");
    one.grow_to(3 * mebibyte, {});
    const auto error = error_of([&] { other.grow_to(2 * mebibyte, {}); });
    CHECK(error.code() == ErrorCode::quota_exceeded);
    CHECK(std::string(error.what()).find("session.quota") != std::string::npos);
    CHECK(std::string(error.what()).find(machine.home + "/other") != std::string::npos);
    CHECK(error.details().at("limit_bytes") == std::to_string(4 * mebibyte));
    CHECK(error.details().contains("used_bytes"));
}

TEST_CASE("who is refused is told what the whole file needs, and what there is without it")
{
    Limited machine;
    machine.quota().count();
    auto share = machine.share("a");
    share.grow_to(3 * mebibyte, {});
    try {
        share.grow_to(5 * mebibyte, {});
        FAIL("there was room");
    } catch (const berth::Error& error) {
        CHECK(std::string(error.what()).find(std::to_string(5 * mebibyte)) != std::string::npos);
        CHECK(std::stoull(error.details().at("used_bytes")) < mebibyte);
        CHECK(error.details().at("limit_bytes") == std::to_string(4 * mebibyte));
    }
}

TEST_CASE("outside of the home there is no quota")
{
    Limited machine;
    QuotaShare outside(&machine.quota(), machine.base + "/outside/file");
    outside.grow_to(1000 * mebibyte, {});
    QuotaShare none(nullptr, machine.home + "/file");
    none.grow_to(1000 * mebibyte, {});
}

TEST_CASE("before anybody is refused the home is counted again")
{
    Limited machine;
    const std::string content(3 * mebibyte, 'x');
    machine.put("old", content);
    machine.quota().count();
    CHECK(machine.quota().is_exact());
    std::filesystem::remove(machine.home + "/old");
    auto share = machine.share("new");
    share.grow_to(3 * mebibyte, {});
    CHECK(machine.used() < 3 * mebibyte + mebibyte);
}

TEST_CASE("a count is exact until commands run or somebody doubts it")
{
    Limited machine;
    CHECK_FALSE(machine.quota().is_exact());
    CHECK_FALSE(machine.quota().state().used);
    machine.quota().count();
    CHECK(machine.quota().is_exact());
    machine.quota().doubt();
    CHECK_FALSE(machine.quota().is_exact());
    machine.quota().count();
    machine.quota().set_commands_run(true);
    CHECK_FALSE(machine.quota().is_exact());
    machine.quota().count();
    CHECK_FALSE(machine.quota().is_exact());
    machine.quota().set_commands_run(false);
    CHECK_FALSE(machine.quota().is_exact());
    machine.quota().count();
    machine.quota().set_commands_run(false);
    CHECK(machine.quota().is_exact());
}
