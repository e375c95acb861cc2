#include "sandbox/local/privilege.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

constexpr const char* whole_map = "         0          0 4294967295\n";

std::string told(const std::string& capabilities, const std::string& uids,
                 const std::string& gids = whole_map)
{
    const TemporaryTree host;
    host.add("proc/self/status", "Name:\tberth\nCapPrm:\t000001ffffffffff\nCapEff:\t" +
                                     capabilities + "\nCapBnd:\t000001ffffffffff\n");
    host.add("proc/self/uid_map", uids);
    host.add("proc/self/gid_map", gids);
    return no_own_uids(2'000'000, 65'536, host.path());
}

} // namespace

TEST_CASE("root of the host can give each session a uid")
{
    CHECK(told("000001ffffffffff", whole_map).empty());
    CHECK(told("000001ffffffffff", "0 1000 1\n1 100000 3000000\n").empty());
}

TEST_CASE("without the capabilities it cannot, and the first that is missing is named")
{
    CHECK(told("0000000000000000", whole_map) == "berth has no CAP_CHOWN");
    // Docker's default set.
    CHECK(told("00000000a80425fb", whole_map) == "berth has no CAP_SYS_ADMIN");
    CHECK(told("", whole_map) == "berth has no CAP_CHOWN");
}

TEST_CASE("without the uids it cannot")
{
    const std::string missing = "the ids from 2000000 on do not exist in this user namespace";
    CHECK(told("000001ffffffffff", "0 1000 1\n1 100000 65536\n") == missing);
    CHECK(told("000001ffffffffff", "0 0 2065535\n") == missing); // the last one
    CHECK(told("000001ffffffffff", "0 0 2065536\n").empty());
    CHECK(told("000001ffffffffff", whole_map, "0 1000 1\n") == missing);
    CHECK(told("000001ffffffffff", "") == missing);
}

TEST_CASE("no /proc: the reason is told")
{
    const TemporaryTree host;
    CHECK(!no_own_uids(1, 1, host.path()).empty());
}
