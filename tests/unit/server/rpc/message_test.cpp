#include "server/rpc/error.hpp"
#include "server/rpc/message.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace berth::rpc; // NOLINT(google-build-using-namespace): the subject of the test
using nlohmann::json;

namespace {

int code_of(const char* text)
{
    try {
        static_cast<void>(take_message(json::parse(text)));
    } catch (const ProtocolError& error) {
        return error.code();
    }
    return 0;
}

} // namespace

TEST_CASE("messages are told apart")
{
    auto message = take_message(json::parse(R"({"jsonrpc":"2.0","id":"a","method":"m"})"));
    CHECK(message.kind == Kind::request);
    CHECK(message.id == "\"a\"");
    CHECK(message.params->is_object());
    message = take_message(json::parse(R"({"jsonrpc":"2.0","method":"m","params":{"x":1}})"));
    CHECK(message.kind == Kind::notification);
    CHECK((*message.params)["x"] == 1);
    message = take_message(json::parse(R"({"jsonrpc":"2.0","id":1,"result":{}})"));
    CHECK(message.kind == Kind::response);
    CHECK(message.id == "1");
    CHECK(*message.params == json::parse(R"({"result":{}})"));
}

TEST_CASE("malformed messages are refused")
{
    for (const auto* text :
         {"1", "\"x\"", "null", "{}", R"({"id":1,"method":"m"})",
          R"({"jsonrpc":"1.0","id":1,"method":"m"})", R"({"jsonrpc":2,"id":1,"method":"m"})",
          R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":1,"method":7})",
          R"({"jsonrpc":"2.0","id":null,"method":"m"})",
          R"({"jsonrpc":"2.0","id":1.5,"method":"m"})",
          R"({"jsonrpc":"2.0","id":true,"method":"m"})",
          R"({"jsonrpc":"2.0","id":[1],"method":"m"})",
          R"({"jsonrpc":"2.0","id":{},"method":"m"})"}) {
        CAPTURE(text);
        CHECK(code_of(text) == invalid_request);
    }
    CHECK(code_of(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1]})") == invalid_params);
}

TEST_CASE("an error echoes the id when it has one that can be echoed")
{
    CHECK(id_for_error(json::parse(R"({"id":"a\"b"})")) == R"("a\"b")");
    CHECK(id_for_error(json::parse(R"({"id":-9007199254740993})")) == "-9007199254740993");
    CHECK(id_for_error(json::parse(R"({"id":1.5})")) == "null");
    CHECK(id_for_error(json::parse("[]")) == "null");
}

TEST_CASE("messages are written as JSON-RPC")
{
    CHECK(json::parse(result_message("1", R"({"a":2})")) ==
          json::parse(R"({"jsonrpc":"2.0","id":1,"result":{"a":2}})"));
    CHECK(json::parse(error_message("null", -32600, "a \"b\"\n\xff", R"({"x":[]})")) ==
          json::parse("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
                      "\"message\":\"a \\\"b\\\"\\n\xef\xbf\xbd\",\"data\":{\"x\":[]}}}"));
}
