#include "sandbox/guest/microvm/way_out.hpp"
#include "tests/unit/e2b/loopback_server.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using berth::guest::Place;
using berth::guest::who_answers;
using berth::tests::LoopbackServer;
using berth::tests::WireConnection;

namespace {

Place place_of(const LoopbackServer& server)
{
    return {.address = "127.0.0.1", .port = server.port()};
}

} // namespace

TEST_CASE("who answers is said, also where others do not, or only take the connection")
{
    std::string asked;
    LoopbackServer answers([&](WireConnection& connection) {
        asked = connection.some();
        connection.send("x");
        connection.wait_for_end();
    });
    LoopbackServer silent([](WireConnection& connection) { connection.wait_for_end(); });
    LoopbackServer closes([](WireConnection&) {});
    CHECK(who_answers({place_of(silent), place_of(closes), place_of(answers)}, {}, 30s) ==
          "127.0.0.1 answers on port " + std::to_string(answers.port()));
    CHECK(asked.size() == 50); // a record of TLS, whole: 5 bytes and what it says that follows
    CHECK(asked.substr(0, 5) == std::string("\x16\x03\x01\0\x2d", 5));
}

TEST_CASE("a connection that is taken and closed is no answer, and nobody is waited for then")
{
    LoopbackServer closes([](WireConnection&) {});
    LoopbackServer resets([](WireConnection& connection) { connection.reset(); });
    const auto began = std::chrono::steady_clock::now();
    CHECK(who_answers({place_of(closes), place_of(resets)}, {}, 60s).empty());
    CHECK(std::chrono::steady_clock::now() - began < 30s);
}

TEST_CASE("who says nothing is waited for as long as was said")
{
    LoopbackServer silent([](WireConnection& connection) { connection.wait_for_end(); });
    CHECK(who_answers({place_of(silent)}, {}, 100ms).empty());
    CHECK(silent.connections() == 1);
}

TEST_CASE("what is no address, or is refused, is no way out")
{
    CHECK(who_answers({{.address = "no address", .port = 53}, {.address = "127.0.0.1", .port = 1}},
                      {}, 60s)
              .empty());
    CHECK(who_answers({}, {}, 60s).empty());
}

TEST_CASE("who answers for an address that nobody has answers for the others too: no proof")
{
    LoopbackServer answers([](WireConnection& connection) {
        (void)connection.some();
        connection.send("x");
        connection.wait_for_end();
    });
    LoopbackServer silent([](WireConnection& connection) { connection.wait_for_end(); });
    LoopbackServer closes([](WireConnection&) {});
    const auto names = [](const LoopbackServer& server) {
        auto place = place_of(server);
        place.kind = Place::Kind::names;
        return place;
    };
    const auto said = "127.0.0.1 answers on port " + std::to_string(answers.port());
    CHECK(who_answers({names(answers), place_of(closes)}, {names(answers)}, 60s).empty());
    CHECK(who_answers({names(answers), place_of(answers)}, {names(answers)}, 60s) == said);
    CHECK(who_answers({names(answers)}, {names(closes)}, 60s) == said);
    CHECK(who_answers({names(answers)}, {{.address = "no address", .port = 53}}, 60s) == said);
    CHECK(who_answers({names(answers)}, {names(silent)}, 100ms) == said); // when it is waited for
}

TEST_CASE("a resolver is asked for names and by TLS, nobody for names")
{
    const auto places = berth::guest::resolvers({"1.1.1.1", "9.9.9.9"});
    REQUIRE(places.size() == 4);
    CHECK(places[0].port == 53);
    CHECK(places[0].kind == Place::Kind::names);
    CHECK(places[1].port == 443);
    CHECK(places[1].kind == Place::Kind::tls);
    CHECK(places[3].address == "9.9.9.9");
    const auto nobodys = berth::guest::nobodys();
    REQUIRE(nobodys.size() == 1);
    CHECK(nobodys[0].address == "192.0.2.1");
    CHECK(nobodys[0].port == 53);
    CHECK(nobodys[0].kind == Place::Kind::names);
}
