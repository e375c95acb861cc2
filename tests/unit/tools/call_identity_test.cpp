#include "tools/call_identity.hpp"
#include "tools/dialect.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <vector>

using nlohmann::json;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

std::string identity(const char* tool, const json& arguments)
{
    const auto* entry = find_tool(tool);
    REQUIRE(entry != nullptr);
    return call_identity(*entry, arguments, Settings{});
}

} // namespace

TEST_CASE("a call is the same in every spelling of its arguments")
{
    const auto edit = identity("edit_file", {{"path", "a"}, {"old_text", "x"}, {"new_text", "y"}});
    CHECK(identity("edit_file", {{"file_path", "a"},
                                 {"old_string", "x"},
                                 {"new_string", "y"},
                                 {"if_sha256", nullptr}}) == edit);
    CHECK(identity("edit_file", {{"path", "a"}, {"old_text", "x"}, {"new_text", "z"}}) != edit);
    // In the dialect too, where it is asked for as that tool does it.
    for (const auto& tool : tools_in(find_dialect("claude"))) {
        if (tool.name == "Edit") {
            CHECK(call_identity(tool,
                                {{"file_path", "a"}, {"old_string", "x"}, {"new_string", "y"}},
                                Settings{}) == edit);
        }
    }
}

TEST_CASE("what has no effect makes no other call of it")
{
    const auto make = identity("bash_exec", {{"command", "make"}});
    CHECK(identity("bash_exec", {{"command", "make"}, {"description", "Build it"}}) == make);
    CHECK(identity("bash_exec", {{"command", "make"}, {"description", "Build it again"}}) == make);
    CHECK(identity("bash_exec", {{"command", "make"}, {"dangerouslyDisableSandbox", true}}) ==
          make);
    CHECK(identity("bash_exec", {{"command", "make"}, {"workdir", "a"}}) != make);
    // Nor among arguments that are refused, nor in the dialect.
    CHECK(identity("bash_exec", {{"command", "a"}, {"cmd", "b"}, {"description", "once"}}) ==
          identity("bash_exec", {{"command", "a"}, {"cmd", "b"}, {"description", "more"}}));
    for (const auto& tool : tools_in(find_dialect("claude"))) {
        if (tool.name == "Bash") {
            CHECK(call_identity(tool,
                                {{"command", "make"},
                                 {"description", "Build it"},
                                 {"dangerouslyDisableSandbox", true}},
                                Settings{}) ==
                  call_identity(tool, {{"command", "make"}}, Settings{}));
        }
    }
    // Where it is an argument that counts, it does.
    CHECK(identity("write_file", {{"path", "a"}, {"content", ""}, {"description", "x"}}) !=
          identity("write_file", {{"path", "a"}, {"content", ""}}));
}

TEST_CASE("calls that differ in anything are different ones")
{
    const std::vector<json> calls = {
        {{"command", "a"}},
        {{"command", "a"}, {"timeout", 1}},
        {{"command", "a"}, {"timeout", "1"}},
        {{"command", "a"}, {"env", {{"A", "b"}}}},
        {{"command", "a"}, {"env", {{"Ab", ""}}}},
        {{"command", "a"}, {"env", json::object()}},
        {{"command", "a"}, {"env", json::array()}},
        {{"command", "a"}, {"env", json::array({"A", "b"})}},
        {{"command", "a"}, {"env", json::array({json::array({"A"}), "b"})}},
        {{"command", json::array()}},
        json::object(),
        json::array(),
        "text",
    };
    std::set<std::string> identities;
    for (const auto& call : calls) {
        identities.insert(identity("bash_exec", call));
    }
    CHECK(identities.size() == calls.size());
    CHECK(identity("bash_input", {{"job_id", "a"}}) != identity("bash_kill", {{"job_id", "a"}}));
}

TEST_CASE("an identity says nothing of the arguments, and those that are refused have one")
{
    const auto secret = identity("bash_exec", {{"command", "secret"}, {"cmd", "other"}});
    CHECK(secret.starts_with("bash_exec "));
    CHECK(secret.size() == 10 + 64);
    CHECK(secret.find("secret") == std::string::npos);
    CHECK(secret == identity("bash_exec", {{"cmd", "other"}, {"command", "secret"}}));
    CHECK(secret != identity("bash_exec", {{"command", "secret"}}));
}
