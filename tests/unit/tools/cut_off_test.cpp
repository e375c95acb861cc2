#include "sandbox/base/cut_off.hpp"
#include "tests/unit/tools/caught.hpp"
#include "tools/cut_off.hpp"
#include "tools/dialect.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>

using nlohmann::json;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

const Entry& served(std::string_view name, const Dialect* dialect = nullptr)
{
    const auto& tools = tools_in(dialect);
    const auto found = std::find_if(tools.begin(), tools.end(),
                                    [&](const Entry& tool) { return tool.name == name; });
    REQUIRE(found != tools.end());
    return *found;
}

berth::Error refused(std::string_view name, const json& arguments, const Dialect* dialect = nullptr)
{
    return test::caught([&] { refuse_cut_off(served(name, dialect), arguments); });
}

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != text.npos;
}

} // namespace

TEST_CASE("a call without arguments is told how to send what was too long")
{
    const auto write = refused("write_file", json::object());
    CHECK(write.code() == berth::ErrorCode::invalid_argument);
    CHECK(std::string_view(write.what()) ==
          "no arguments arrived, needed: path, content; the call was probably cut off");
    CHECK(contains(write.hint(), "write_file with the first part, then more calls with mode "
                                 "\"append\""));
    CHECK(write.details().at("cut_off.arrived_as") == "nothing");
    CHECK(write.details().at("cut_off.certain") == "false");
    CHECK_FALSE(write.retryable());
    CHECK(contains(refused("bash_exec", json::object()).hint(), "run that with bash FILE"));
    const auto edit = refused("edit_file", json::object());
    CHECK(contains(edit.what(), "needed: path, old_text, new_text;"));
    CHECK(contains(edit.hint(), "make several that change less each"));
    // What is short was not cut off.
    CHECK(std::string_view(refused("read_file", json::object()).what()) ==
          "no arguments arrived, needed: path");
    CHECK(refused("read_file", json::object()).hint() == "Send the call again with path.");
    CHECK_FALSE(berth::tells_cut_off(refused("read_file", json::object())));
}

TEST_CASE("every tool that needs arguments says so, in both dialects")
{
    for (const auto* dialect : {find_dialect("berth"), find_dialect("claude")}) {
        for (const auto& tool : tools_in(dialect)) {
            INFO(tool.name);
            if (tool.name == "session_info" || tool.name == "list_workspace_files") {
                CHECK_NOTHROW(refuse_cut_off(tool, json::object()));
                continue;
            }
            const auto error = test::caught([&] { refuse_cut_off(tool, json::object()); });
            for (const auto* name : {"write_file", "bash_exec", "edit_file"}) {
                CHECK((dialect == nullptr || !contains(error.hint(), name)));
            }
        }
    }
    const auto* claude = find_dialect("claude");
    CHECK(contains(refused("Write", json::object(), claude).hint(),
                   "Write with the first part, then cat >>FILE in Bash"));
    CHECK(contains(refused("Write", json::object(), claude).what(), "needed: file_path, content;"));
    CHECK(contains(refused("Bash", json::object(), claude).hint(),
                   "(Write, then cat >>FILE in Bash)"));
}

TEST_CASE("a string in place of arguments is refused, half or whole")
{
    const auto half = refused("write_file", R"({"path":"a","content":"xx)");
    CHECK(contains(half.what(), "the call arrived cut off: the arguments came as a string, which "
                                "ends in the middle, after 25 bytes"));
    CHECK(contains(half.hint(), "mode \"append\""));
    for (const auto* cut : {"{", "{\"path\":\"a\\", "{\"path\":\"a\\u12", "{\"a\":tr", "{\"a\":1",
                            "{\"a\":-", "{\"a\":\"\xc3", " {\"a\":[1,"}) {
        CAPTURE(cut);
        const auto details = refused("write_file", cut).details();
        CHECK(details.at("cut_off.arrived_as") == "string");
        CHECK(details.at("cut_off.bytes") == std::to_string(std::string_view(cut).size()));
        CHECK(details.at("cut_off.certain") == "true");
        CHECK(details.size() == 3);
    }
    const auto whole = refused("write_file", R"({"path":"a","content":""})");
    CHECK(std::string_view(whole.what()) == "the arguments came as a string");
    CHECK(contains(whole.hint(), "as an object"));
    CHECK(whole.details().empty());
    CHECK(contains(refused("write_file", "{'path': 'a'}").what(), "no valid JSON"));
    CHECK(contains(refused("write_file", "").what(), "that is empty"));
    CHECK(contains(refused("session_info", " ").what(), "that is empty"));
}

TEST_CASE("half a document may be as deep as it is long, or end in any token")
{
    std::string objects;
    for (int i = 0; i < 100'000; ++i) {
        objects += "{\"a\":";
    }
    for (const auto& half : {std::string(1'000'000, '['), objects, std::string("[tru"),
                             std::string("[1,"), std::string("[\"a\\"), std::string("[-")}) {
        CAPTURE(half.substr(0, 8));
        CHECK(contains(refused("bash_exec", half).what(), "the call arrived cut off"));
    }
    for (const char* damaged : {"[1]]", "[1 2", "[trie", "[1e999", "]"}) {
        CAPTURE(damaged);
        CHECK(contains(refused("bash_exec", damaged).what(), "it is no valid JSON"));
    }
}

TEST_CASE("a wrapper around half a document is known by what is in it, not by its name")
{
    const char* const half = R"({"command": "echo a)";
    for (const json& wrapper : {json{{"_raw", half}}, json{{"INVALID_JSON", half}},
                                json{{"__unparsedToolInput", {{"raw", half}, {"len", 90}}}},
                                json{{"raw_arguments", half}, {"error", "unexpected end"}}}) {
        CAPTURE(wrapper.dump());
        const auto error = refused("bash_exec", wrapper);
        CHECK(contains(error.what(), "the call arrived cut off"));
        CHECK(contains(error.hint(), "run that with bash FILE"));
    }
    CHECK(
        contains(refused("bash_exec", {{"_raw", half}}).what(), "a string in \"_raw\" (needed: "));
    CHECK(contains(refused("bash_exec", {{"_\u202eraw", half}}).what(), "in \"_\\u202eraw\""));
    const auto details = refused("bash_exec", {{"_raw", half}}).details();
    CHECK(details.at("cut_off.arrived_as") == "wrapper");
    CHECK(details.at("cut_off.argument") == "_raw");
    CHECK(details.at("cut_off.bytes") == "19");
    const auto whole = refused("bash_exec", {{"arguments", R"({"command": "ls"})"}});
    CHECK(std::string_view(whole.what()) ==
          "the arguments came as a string in \"arguments\" (needed: command)");
    for (const auto* aliased : {R"({"cmd": "ls)", R"({"comma)", R"({")"}) {
        CAPTURE(aliased);
        CHECK(contains(refused("bash_exec", {{"_raw", aliased}}).what(), "cut off"));
    }
}

TEST_CASE("what may be meant as it came is left to the tool")
{
    const auto passes = [](std::string_view name, const json& arguments,
                           const Dialect* dialect = nullptr) {
        CAPTURE(arguments.dump());
        CHECK_NOTHROW(refuse_cut_off(served(name, dialect), arguments));
    };
    passes("bash_exec", {{"command", "{ echo a"}});
    passes("bash_exec", {{"cmd", "{ \"a\""}}); // an alias
    passes("bash_exec", {{"command", ""}});
    passes("bash_exec", {{"comand", "ls"}});
    passes("bash_exec", {{"comand", "ls"}, {"_raw", 7}});
    passes("bash_exec", {{"comand", "{ echo a"}});
    passes("bash_exec", {{"script", "{ echo a; }"}});
    passes("glob_files", {{"glob", "{a,b}"}});
    passes("write_file", {{"cntent", "{\"a\": 1"}}); // mistyped
    passes("write_file", {{"path", "a.json"}, {"content", "{\"a\":"}});
    passes("write_file", {{"file_path", "a.json"}, {"contents", "{\"a\":"}});
    passes("write_file", {{"path", "a"}}); // missing, but something arrived
    passes("Write", {{"file_path", "a.json"}, {"content", "{\"a\":"}}, find_dialect("claude"));
    passes("write_file", json::array());
    // Content of an argument that is called otherwise.
    passes("write_file", {{"filename", "x.json"}, {"text", "{\"a\": 1}"}});
    passes("grep_files", {{"regex", "{\"name\":"}});
    passes("edit_file", {{"file", "x.json"}, {"old", "{\"a\": 1"}, {"new", "{\"a\": 2"}});
    passes("bash_exec", {{"script", "{ \"a\"; }"}});
    passes("bash_exec", {{"script", "{}"}});
    passes("write_file", {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "{"}});
}
