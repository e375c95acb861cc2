#include "server/mcp/trace_context.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace berth::mcp; // NOLINT(google-build-using-namespace): the subject
using nlohmann::json;

namespace {

const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string parent = "00f067aa0ba902b7";
const std::string good = "00-" + trace + "-" + parent + "-01";

} // namespace

TEST_CASE("a traceparent is one by the letter of Trace Context")
{
    CHECK(is_traceparent(good));
    CHECK(is_traceparent("cc-" + trace + "-" + parent + "-01"));
    CHECK(is_traceparent("cc-" + trace + "-" + parent + "-01-what-comes-later"));
    for (const auto& text :
         {std::string(), good.substr(1), good + " ", good + "-more", "ff" + good.substr(2),
          "0g" + good.substr(2), "00-" + std::string(32, '0') + "-" + parent + "-01",
          "00-" + trace + "-" + std::string(16, '0') + "-01",
          "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01",
          "00-" + trace + "-" + parent + "-0x", "00_" + trace + "-" + parent + "-01",
          "cc-" + trace + "-" + parent + "-01.more", "cc-" + trace + "-" + parent + "-01-a\nb",
          "cc-" + trace + "-" + parent + "-01-" + std::string(100, 'x')}) {
        CAPTURE(text);
        CHECK_FALSE(is_traceparent(text));
    }
}

TEST_CASE("that of _meta counts, and a header's only where it has none that is one")
{
    const auto of = [](json params, const std::string& header) {
        add_traceparent(params, header);
        return traceparent_of(params);
    };
    const auto other = "00-" + trace + "-1111111111111111-00";
    CHECK(traceparent_of(json::object()).empty());
    CHECK(traceparent_of({{"_meta", 3}}).empty());
    CHECK(traceparent_of({{"_meta", {{"traceparent", 3}}}}).empty());
    CHECK(traceparent_of({{"_meta", {{"traceparent", "no"}}}}).empty());
    CHECK(of(json::object(), good) == good);
    CHECK(of({{"_meta", {{"a", 1}}}}, good) == good);
    CHECK(of({{"_meta", {{"traceparent", other}}}}, good) == other);
    CHECK(of({{"_meta", {{"traceparent", "no"}}}}, good) == good);
    CHECK(of(json::object(), "no").empty());
    json untouched{{"_meta", 3}};
    add_traceparent(untouched, good);
    CHECK(untouched == json({{"_meta", 3}}));
    json empty = json::object();
    add_traceparent(empty, "");
    CHECK(empty.empty());
}
