#include "server/rpc/outline.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using berth::rpc::Outline;

TEST_CASE("an outline is the message without what is deep in it, however it is cut")
{
    const std::string message = R"( {"jsonrpc":"2.0","params":{"id":1,"a":"}]\"","b":[{"c":[]}]},)"
                                R"("list":[1,{"x":2}],"back\\":"\"{", "id" : "é}" } )";
    const std::string outline =
        R"( {"jsonrpc":"2.0","params":{},"list":[],"back\\":"\"{", "id" : "é}" } )";
    for (std::size_t piece = 1; piece <= message.size(); ++piece) {
        Outline bench;
        for (std::size_t at = 0; at < message.size(); at += piece) {
            bench.feed(std::string_view(message).substr(at, piece));
        }
        CHECK(bench.text() == outline);
    }
}

TEST_CASE("an outline is bounded, and forgets")
{
    Outline outline;
    outline.feed(R"({"id":1,"params":{"a":")" + std::string(1U << 20U, 'x') + R"("},)");
    CHECK(outline.text() == R"({"id":1,"params":{},)");
    outline.feed('"' + std::string(Outline::limit, 'x'));
    CHECK(outline.text().empty());
    outline.feed("\":1}");
    CHECK(outline.text().empty());
    outline.clear();
    outline.feed("]}7{\"id\":2}");
    CHECK(outline.text() == "]}7{\"id\":2}");
}

TEST_CASE("a message is recognised by what stands in its outermost object")
{
    using berth::rpc::Kind;
    using berth::rpc::recognise;
    const auto last = recognise(R"({"params":{"id":1,"a":"\ud83d"},"method":"m","id":-7})");
    CHECK(last.kind == Kind::request);
    CHECK(last.id == "-7");
    CHECK(last.method == "m");
    CHECK(recognise(R"({"id":"a","meth)").id == "\"a\"");
    CHECK(recognise(R"([{"id":1,"method":"m"},)").id.empty());
    CHECK(recognise(R"({"id":1.5,"method":"m","params":{"a":}})").id.empty());
    CHECK(recognise(R"({"id":{},"method":"m"})").id.empty());
    CHECK(recognise(R"({"id":1,"error":{"a":1e999}})").kind == Kind::response);
    CHECK(recognise(R"({"method":"m","params":{"a":1e999}})").kind == Kind::notification);
    CHECK(recognise("").kind == Kind::notification);
}

TEST_CASE(
    "of a message that breaks off the short strings of its params are known, and nothing else")
{
    using berth::rpc::recognise;
    using nlohmann::json;
    const std::string head = R"({"jsonrpc":"2.0","id":1,"method":"m","params":)";
    const auto params = [&](const std::string& text) { return *recognise(head + text).params; };
    CHECK(params(R"({"name":"write_file","arguments":{"name":"a","path":"b)") ==
          json{{"name", "write_file"}});
    CHECK(params(R"({"arguments":{"name":"a","b":[{"name":"c"}]},"name":"w","x)") ==
          json{{"name", "w"}});
    CHECK(params(R"({"name":"writ)") == json::object());
    CHECK(params(R"(["name","a",)") == json::object());
    CHECK(params(R"({"name":")" + std::string(300, 'x') + R"(","a)") == json::object());
    CHECK(*recognise(R"({"id":1,"method":"m","x":{"name":"a"},"y)").params == json::object());
    CHECK(recognise(head).partial);
    std::string many = R"({"name":"w")";
    for (int i = 0; i < 1000; ++i) {
        many += ",\"" + std::to_string(i) + "\":\"\"";
    }
    const json kept = params(many);
    CHECK(kept.size() == 64); // of a text of any size
    CHECK(kept["name"] == "w");
}
