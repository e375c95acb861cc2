#include "sandbox/base/cut_off.hpp"
#include "server/mcp/error_details.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using nlohmann::json;
using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

json details(const char* key, const char* text)
{
    Error error(ErrorCode::conflict, "what");
    error.with_detail(key, text);
    return mcp::details_of(error);
}

} // namespace

TEST_CASE("details are of the type that a program wants")
{
    CHECK(mcp::details_of(Error(ErrorCode::conflict, "what")) == json::object());
    CHECK(details("sha256", "12") == json{{"sha256", "12"}});
    CHECK(details("count", "12") == json{{"count", 12}});
    CHECK(details("lines", "1, 4") == json{{"lines", {1, 4}}});
    CHECK(details("lines", "1,2,30") == json{{"lines", {1, 2, 30}}});
    CHECK(details("lines", "7") == json{{"lines", json::array({7})}});
}

TEST_CASE("what is busy says when to try again, also where nobody knows")
{
    Error error(ErrorCode::busy, "what");
    CHECK(mcp::details_of(error) == json{{"retry_after", mcp::usual_retry}});
    error.with_detail("retry_after", "soon"); // a guest's word
    CHECK(mcp::details_of(error) == json{{"retry_after", mcp::usual_retry}});
    error.with_detail("retry_after", "90");
    CHECK(mcp::details_of(error) == json{{"retry_after", 90}});
}

TEST_CASE("a call that was cut off is told of in an object")
{
    const Error error(ErrorCode::invalid_argument, "what");
    CHECK_FALSE(tells_cut_off(error));
    const auto text =
        with_cut_off(error, {.arrived_as = "wrapper", .bytes = 19, .argument = "_raw"});
    CHECK(tells_cut_off(text));
    CHECK(mcp::details_of(text)["cut_off"] ==
          json{{"arrived_as", "wrapper"}, {"argument", "_raw"}, {"bytes", 19}, {"certain", true}});
    const auto nothing = with_cut_off(error, {.arrived_as = "nothing", .certain = false});
    CHECK(mcp::details_of(nothing)["cut_off"] ==
          json{{"arrived_as", "nothing"}, {"certain", false}});
}

TEST_CASE("what a guest tells in another form is left out")
{
    for (const char* text : {"", "-1", "1.5", "0x1", "99999999999999999999", " 1", "1 "}) {
        CAPTURE(text);
        CHECK(details("count", text) == json::object());
    }
    for (const char* text : {"", "1,", "1,,2", "1;2", "a", "1, b"}) {
        CAPTURE(text);
        CHECK(details("lines", text) == json::object());
    }
    CHECK(details("cut_off.certain", "yes") == json::object());
    Error both(ErrorCode::conflict, "what");
    both.with_detail("cut_off", "text").with_detail("cut_off.bytes", "3");
    CHECK(mcp::details_of(both) == json{{"cut_off", {{"bytes", 3}}}});
}
