#include "sandbox/e2b/unkept_networks.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using berth::ErrorCode;
using berth::e2b::BoxNetwork;
using berth::e2b::NotKept;
using berth::e2b::UnkeptNetworks;
using berth::tests::error_of;

namespace {

const BoxNetwork none{.internet = false};

void find_out(UnkeptNetworks& unkept)
{
    CHECK(error_of([&] {
              unkept.watch(none, [] { throw NotKept("1.1.1.1 answers on port 443"); });
          }) == ErrorCode::backend_error);
}

} // namespace

TEST_CASE("a network that was seen not to be kept is told so, and no other one is")
{
    UnkeptNetworks unkept(1h);
    CHECK_FALSE(error_of([&] { unkept.require_not_seen(none); }));
    CHECK(unkept.watch(none, [] { return 1; }) == 1);
    CHECK_FALSE(error_of([&] { unkept.require_not_seen(none); }));
    find_out(unkept);
    CHECK_FALSE(error_of([&] { unkept.require_not_seen({.deny_out = {"0.0.0.0/0"}}); }));
    try {
        unkept.require_not_seen(none);
        FAIL_CHECK("it is not known");
    } catch (const NotKept& error) {
        CHECK(std::string(error.what()).find("1.1.1.1 answers on port 443") != std::string::npos);
        CHECK(error.hint().find("--network host") != std::string::npos);
    }
}

TEST_CASE("and is asked again when that was long ago")
{
    UnkeptNetworks unkept(0ms);
    find_out(unkept);
    CHECK_FALSE(error_of([&] { unkept.require_not_seen(none); }));
}
