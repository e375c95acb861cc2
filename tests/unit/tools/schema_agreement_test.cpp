#include "sandbox/base/error.hpp"
#include "tests/unit/tools/schema_validator.hpp"
#include "tools/tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using nlohmann::json;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

/// A value of every type and size at every argument: what a schema and a decoder could see
/// differently.
const std::vector<json>& odd_values()
{
    static const std::vector<json> values = {
        nullptr,
        true,
        false,
        0,
        1,
        -1,
        7200,
        7201,
        1000,
        1001,
        10'000,
        10'001,
        120'000,
        1.5,
        -0.5,
        1'000'000'000'000'000,
        1'000'000'000'000'001,
        18'446'744'073'709'551'615ULL,
        1.0e300,
        "",
        "5",
        "x",
        "utf-8",
        "base64",
        "2-5",
        "text",
        "overwrite",
        "files_with_matches",
        "content",
        std::string(64, 'a'),
        std::string(63, 'a'),
        std::string(64, 'g'),
        std::string(64, 'F'),
        json::array(),
        json::array({"a", "b"}),
        json::array({"a", ""}),
        json::array({"a", 1}),
        json::array({{{"old_text", "a"}, {"new_text", "b"}}}),
        json::array({{{"old_text", "a"}}}),
        json::array({{{"old_string", "a"}, {"new_string", "b"}, {"replace_all", true}}}),
        json::array({{{"old_text", "a"}, {"new_text", "b"}, {"extra", 1}}}),
        json::array({{{"old_text", 1}, {"new_text", "b"}}}),
        json::array({1}),
        json::array({nullptr}),
        json::object(),
        json{{"A", "1"}},
        json{{"A", 1}},
        json{{"A", nullptr}},
    };
    return values;
}

const std::map<std::string, json, std::less<>>& minimal_arguments()
{
    static const std::map<std::string, json, std::less<>> table = {
        {"bash_exec", {{"command", "true"}}},
        {"bash_input", {{"job_id", "job-1"}, {"input", "x"}}},
        {"bash_kill", {{"job_id", "job-1"}}},
        {"bash_output", {{"job_id", "job-1"}}},
        {"delete_workspace_file", {{"workspace_path", "/a"}}},
        {"edit_file", {{"path", "a"}, {"old_text", "a"}, {"new_text", "b"}}},
        {"glob_files", {{"pattern", "*"}}},
        {"grep_files", {{"pattern", "a"}}},
        {"list_workspace_files", json::object()},
        {"load_from_workspace", {{"workspace_path", "/a"}}},
        {"read_file", {{"path", "a"}}},
        {"save_to_workspace", {{"sandbox_path", "a"}}},
        {"session_info", json::object()},
        {"write_file", {{"path", "a"}, {"content", ""}}},
    };
    return table;
}

std::string decoder_complaint(const Entry& tool, const json& canonical)
{
    try {
        tool.check(canonical);
        return {};
    } catch (const berth::Error& error) {
        CHECK((error.code() == berth::ErrorCode::invalid_argument ||
               error.code() == berth::ErrorCode::empty_command));
        return error.what();
    }
}

/// What a schema could say only with a oneOf or not at its top, which model APIs refuse, or not at
/// all; docs/tools.md says it. Whatever else a decoder refuses, its schema refuses.
bool schema_cannot_say(std::string_view tool, std::string_view complaint)
{
    static const std::multimap<std::string, std::string, std::less<>> table = {
        {"bash_exec", "command: there is nothing to run"},
        {"bash_exec", "stdin_open is for commands in the background"},
        {"bash_input", "neither input nor close was given"},
        {"edit_file", "both old_text/new_text and edits were given"},
        {"edit_file", "missing: new_text"},
        {"edit_file", "missing: old_text"},
        {"edit_file", "missing: path"},
        {"edit_file", "neither path nor patch arrived"},
        {"edit_file", "patch was given with other arguments than dry_run"},
        {"edit_file", "neither old_text and new_text nor edits were given"},
        {"edit_file", "old_text and new_text are the same, there is nothing to change"},
        {"edit_file", "replace_all does not apply to edits"},
        {"read_file", "both pages and offset or limit were given"},
        {"read_file", "pages: the range ends before it begins"},
    };
    const auto [begin, end] = table.equal_range(tool);
    return std::any_of(begin, end, [&](const auto& row) { return row.second == complaint; });
}

void check_agreement(const Entry& tool, const json& arguments)
{
    json canonical;
    try {
        canonical = tool.canonical(arguments);
    } catch (const berth::Error&) {
        return; // refused before either of them sees it
    }
    const auto by_schema = test::schema_complaint(tool.input_schema, canonical);
    const auto by_decoder = decoder_complaint(tool, canonical);
    INFO(tool.name, " ", arguments.dump(), "\nschema: ", by_schema, "\ndecoder: ", by_decoder);
    CHECK((by_schema.empty() == by_decoder.empty() ||
           (by_schema.empty() && schema_cannot_say(tool.name, by_decoder))));
}

/// valijson takes a number above the largest of 64 bits with a sign for a negative one, which a
/// schema without a minimum of 0 may allow.
bool misread(const json& value, const json& property)
{
    return value.is_number_unsigned() &&
           value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max() &&
           property.contains("minimum") && property.at("minimum") < 0;
}

} // namespace

TEST_CASE("schema and decoder accept and refuse the same arguments")
{
    for (const auto& tool : all_tools()) {
        const auto& minimal = minimal_arguments().at(std::string(tool.name));
        CHECK(decoder_complaint(tool, tool.canonical(minimal)) == "");
        check_agreement(tool, minimal);
        check_agreement(tool, json::object());
        check_agreement(tool, json::array());
        check_agreement(tool, "text");
        const auto schema = json::parse(tool.input_schema);
        for (const auto& [name, property] : schema.at("properties").items()) {
            auto without = minimal;
            without.erase(name);
            check_agreement(tool, without);
            for (const auto& value : odd_values()) {
                if (misread(value, property)) {
                    CHECK(decoder_complaint(tool, {{"path", "a"}, {name, value}}) != "");
                    continue;
                }
                auto arguments = minimal;
                arguments[name] = value;
                check_agreement(tool, arguments);
            }
        }
        auto unknown = minimal;
        unknown["no_such_argument"] = 1;
        check_agreement(tool, unknown);
    }
}

TEST_CASE("what the schema of edit_file cannot say is refused")
{
    const auto* tool = find_tool("edit_file");
    REQUIRE(tool != nullptr);
    const json edits = json::array({{{"old_text", "a"}, {"new_text", "b"}}});
    const json refused[] = {
        {{"path", "f"}},
        {{"path", "f"}, {"old_text", "a"}},
        {{"path", "f"}, {"new_text", "a"}},
        {{"path", "f"}, {"old_text", "a"}, {"new_text", "a"}},
        {{"path", "f"}, {"old_text", "a"}, {"new_text", "b"}, {"edits", edits}},
        {{"path", "f"}, {"replace_all", true}, {"edits", edits}},
        {{"old_text", "a"}, {"new_text", "b"}},
        {{"path", "f"}, {"patch", "*** Begin Patch"}},
    };
    std::set<std::string> complaints;
    for (const auto& arguments : refused) {
        INFO(arguments.dump());
        const auto complaint = decoder_complaint(*tool, arguments);
        CHECK(test::schema_complaint(tool->input_schema, arguments).empty());
        CHECK(schema_cannot_say("edit_file", complaint));
        complaints.insert(complaint);
    }
    CHECK(complaints.size() == std::size(refused)); // each of the exceptions is one
}

TEST_CASE("what the schema of read_file cannot say is refused")
{
    const auto* tool = find_tool("read_file");
    REQUIRE(tool != nullptr);
    const json refused[] = {
        {{"path", "f"}, {"pages", "5-2"}},
        {{"path", "f"}, {"pages", "5"}, {"limit", 3}},
    };
    for (const auto& arguments : refused) {
        INFO(arguments.dump());
        CHECK(test::schema_complaint(tool->input_schema, arguments).empty());
        CHECK(schema_cannot_say("read_file", decoder_complaint(*tool, arguments)));
    }
}

TEST_CASE("120.0 is a whole number by JSON Schema 2020-12, so the decoder takes it")
{
    // Not part of the table above: valijson follows an older draft here.
    const auto* tool = find_tool("bash_exec");
    REQUIRE(tool != nullptr);
    CHECK(decoder_complaint(*tool, {{"command", "true"}, {"timeout", 120.0}}) == "");
}

TEST_CASE("schemas are what model APIs and clients take")
{
    for (const auto& tool : all_tools()) {
        INFO(tool.name);
        const auto schema = json::parse(tool.input_schema);
        CHECK(schema.at("type") == "object");
        CHECK(schema.at("additionalProperties") == false);
        for (const auto* refused : {"anyOf", "oneOf", "allOf", "not"}) {
            CHECK_FALSE(schema.contains(refused));
        }
        for (const auto& [name, property] : schema.at("properties").items()) {
            INFO(name);
            CHECK(property.contains("description"));
            CHECK_FALSE(property.at("description").get<std::string>().empty());
            if (property.contains("type") && property.at("type") == "integer") {
                CHECK(property.contains("minimum"));
                CHECK(property.contains("maximum"));
            }
        }
        const auto output = json::parse(tool.output_schema);
        for (const auto* common : {"session", "backend", "ok", "message"}) {
            CHECK(output.at("properties").contains(common));
        }
    }
}
