#include "server/rpc/error.hpp"
#include "server/rpc/json_reader.hpp"
#include "server/rpc/json_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace berth::rpc; // NOLINT(google-build-using-namespace): the subject of the test
using nlohmann::json;

namespace {

int code_of(std::string_view text, const ReadLimits& limits = {})
{
    try {
        static_cast<void>(read_json(text, limits));
    } catch (const ProtocolError& error) {
        return error.code();
    }
    return 0;
}

} // namespace

TEST_CASE("a document is read as the library reads it")
{
    const std::string text =
        R"({"a":[1,-2,3.5,"x\u00e9",null,true,{"b":{}}],"c":18446744073709551615,"d":[[],[{}]]})";
    CHECK(read_json(text, {}) == json::parse(text));
    CHECK(read_json("7", {}) == 7);
}

TEST_CASE("what is not JSON in UTF-8 is a parse error")
{
    for (const auto* text : {"", "{", "{\"a\":}", "nul", "{} x", "[1,]", "\"\xff\"", "\"\xc3\"",
                             "\"\xed\xa0\x80\"", R"("\ud800")", "\"\n\""}) {
        CAPTURE(text);
        CHECK(code_of(text) == parse_error);
    }
}

TEST_CASE("where a document ends too early is told, and of none that there is none")
{
    const auto said = [](std::string_view text) {
        try {
            static_cast<void>(read_json(text, {}));
        } catch (const ProtocolError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(said("") == "the JSON is empty");
    CHECK(said("{") == "the JSON ends in the middle, after 1 byte");
    CHECK(said("[1") == "the JSON ends in the middle, after 2 bytes");
}

TEST_CASE("nesting is bounded, and a bomb does not reach the stack")
{
    CHECK(code_of(std::string(64, '[') + std::string(64, ']')) == 0);
    CHECK(code_of(std::string(65, '[') + std::string(65, ']')) == invalid_request);
    CHECK(code_of(std::string(1'000'000, '[')) == invalid_request);
    std::string objects;
    for (int i = 0; i < 100'000; ++i) {
        objects += "{\"a\":";
    }
    CHECK(code_of(objects) == invalid_request);
}

TEST_CASE("the number of values is bounded")
{
    CHECK(code_of("[1,2,3]", {.depth = 64, .values = 4}) == 0);
    CHECK(code_of("[1,2,3]", {.depth = 64, .values = 3}) == invalid_request);
    CHECK(code_of("[[],[],[]]", {.depth = 64, .values = 3}) == invalid_request);
}

TEST_CASE("a key given twice is refused, the same key in two objects is not")
{
    CHECK(code_of(R"({"id":1,"id":2})") == invalid_request);
    CHECK(code_of(R"({"a":{"b":1,"\u0062":2}})") == invalid_request);
    CHECK(code_of(R"([{"a":1},{"a":{"a":2}}])") == 0);
}

TEST_CASE("quoting agrees with the library")
{
    std::string every;
    for (int byte = 0; byte < 0x80; ++byte) {
        every += static_cast<char>(byte);
    }
    every += "é €😀 \u0080\u009f\u00a0";
    for (const std::string& text : {std::string(), every, std::string("plain"), every + every}) {
        std::string out = "x";
        append_quoted(out, text);
        CHECK(json::parse(out.substr(1)) == text);
    }
    std::string out;
    append_quoted(out, "a\u009b2J\u00a9\x7f");
    CHECK(out == "\"a\\u009b2J\u00a9\\u007f\"");
}

TEST_CASE("text that is not UTF-8 does not throw on the way out")
{
    CHECK(to_text("a\xff"
                  "b") == "\"a\xef\xbf\xbd"
                          "b\"");
}
