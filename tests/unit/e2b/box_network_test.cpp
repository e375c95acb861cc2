#include "sandbox/e2b/box_network.hpp"
#include "sandbox/e2b/box_request.hpp"
#include "tests/unit/e2b/control_plane.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using berth::ErrorCode;
using berth::e2b::box_network;
using berth::e2b::BoxInfo;
using berth::e2b::BoxNetwork;
using berth::e2b::change_network;
using berth::e2b::forbidden_places;
using berth::e2b::network_mark;
using berth::sandbox::Network;
using berth::tests::ControlPlane;
using berth::tests::error_of;
using berth::tests::reply;
using berth::tests::WireRequest;
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

TEST_CASE("the mark of a network is that of the same alone")
{
    const BoxNetwork none{.internet = false};
    CHECK(network_mark(none) == network_mark({.internet = false}));
    CHECK(network_mark(none) != network_mark({}));
    CHECK(network_mark({.allow_out = {"a.org"}}) != network_mark({.deny_out = {"a.org"}}));
    CHECK(network_mark({.allow_out = {"a.org"}}) != network_mark({.allow_out = {"b.org"}}));
    CHECK(network_mark(none).size() == 16);
}

TEST_CASE("a server that cannot change a network has a box that was made for the same")
{
    std::string answer = reply(405, "");
    const std::string page = reply(404, "404 page not found");
    bool is_old = false;
    SUBCASE("405") {}
    SUBCASE("404 of a page, of one that knows no second version of paths")
    {
        answer = page;
        is_old = true;
    }
    ControlPlane e2b([&](const WireRequest& request) {
        if (request.target.find("/connect") == std::string::npos) {
            return answer;
        }
        return request.target.find("/v2/") != std::string::npos
                   ? page
                   : reply(200, R"({"sandboxID":"ig4b","templateID":"t","clientID":"c"})");
    });
    if (is_old) {
        (void)error_of([&] { (void)e2b.client.connect("ig4b", 60s, berth::Deadline::after(30s)); });
        CHECK(e2b.client.is_old());
    }
    const BoxNetwork none{.internet = false};
    BoxInfo box;
    box.box.id = "ig4b";
    const auto changed = [&](const BoxNetwork& network) {
        return error_of([&] { change_network(e2b.client, box, network, 30s); });
    };
    CHECK(changed(none) == ErrorCode::backend_error); // it does not say for what
    CHECK_FALSE(changed({}));
    box.metadata["berth_network"] = network_mark(none);
    CHECK_FALSE(changed(none));
    CHECK(changed({.deny_out = {"0.0.0.0/0"}}) == ErrorCode::backend_error);
    answer = reply(404, R"({"code":404,"message":"Sandbox \"ig4b\" doesn't exist"})");
    CHECK(changed(none) == ErrorCode::session_lost);
}

TEST_CASE("a page of a proxy does not say that a server cannot change a network")
{
    ControlPlane e2b([](const WireRequest&) { return reply(404, "404 page not found"); });
    const BoxNetwork none{.internet = false};
    BoxInfo box;
    box.box.id = "ig4b";
    box.metadata["berth_network"] = network_mark(none); // since when it may have been changed
    CHECK(error_of([&] { change_network(e2b.client, box, none, 30s); }) ==
          ErrorCode::sandbox_unavailable);
}
