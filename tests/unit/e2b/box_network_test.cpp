#include "sandbox/e2b/box_network.hpp"
#include "sandbox/e2b/box_request.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using berth::e2b::box_network;
using berth::e2b::BoxNetwork;
using berth::e2b::forbidden_places;
using berth::sandbox::Network;
using Texts = std::vector<std::string>;

TEST_CASE(
    "what a sandbox must have no answer from is what its rules deny, and they let it have no more")
{
    const Texts all{"1.1.1.1", "9.9.9.9", "208.67.222.222"};
    CHECK(forbidden_places({.internet = false}) == all);
    CHECK(forbidden_places({}).empty());
    CHECK(forbidden_places({.deny_out = {"0.0.0.0/0"}}) == all);
    CHECK(forbidden_places({.allow_out = {"pypi.org"}, .deny_out = {"0.0.0.0/0"}}) == all);
    CHECK(forbidden_places({.allow_out = {"1.1.1.1", "9.0.0.0/8"}, .deny_out = {"0.0.0.0/0"}}) ==
          Texts{"208.67.222.222"});
    CHECK(forbidden_places({.allow_out = {"0.0.0.0/0"}, .deny_out = {"0.0.0.0/0"}}).empty());
    CHECK(forbidden_places({.deny_out = {"10.0.0.0/8"}}).empty());
    CHECK(forbidden_places({.deny_out = {"9.9.9.0/24"}}) == Texts{"9.9.9.9"});
}

TEST_CASE("of each mode of the network the places are those that are denied")
{
    CHECK(forbidden_places(box_network({.network = Network::none})).size() == 3);
    CHECK(forbidden_places(box_network({.network = Network::host})).empty());
    CHECK(forbidden_places(box_network({.network = Network::filtered,
                                        .filter = {.allow = {"pypi.org", "1.1.1.0/24:*"}}}))
              .size() == 2);
}
