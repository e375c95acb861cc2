#include "tests/unit/tools/caught.hpp"
#include "tests/unit/tools/schema_validator.hpp"
#include "tools/dialect.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

// The table of the Claude dialect: what its schemas accept becomes arguments that the tools accept.

using nlohmann::json;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace
using berth::ErrorCode;

namespace {

const std::map<std::string, json>& minimal_arguments()
{
    static const std::map<std::string, json> table = {
        {"Bash", {{"command", "true"}}},
        {"Edit", {{"file_path", "a"}, {"old_string", "a"}, {"new_string", "b"}}},
        {"Glob", {{"pattern", "*"}}},
        {"Grep", {{"pattern", "a"}}},
        {"Read", {{"file_path", "a"}}},
        {"TaskStop", {{"task_id", "job-1"}}},
        {"Write", {{"file_path", "a"}, {"content", ""}}},
    };
    return table;
}

const std::vector<json>& odd_values()
{
    static const std::vector<json> values = {
        true,
        false,
        0,
        1,
        -1,
        1.5,
        1000,
        1001,
        7200000,
        7200001,
        120'000,
        1'000'000'000'000'000,
        "",
        "x",
        "content",
        1'000'000'000'000'001,
        "count",
        "files",
        "5",
        "files_with_matches",
        "a",
        "b",
        1.0e300,
        18'446'744'073'709'551'615ULL,
        json::array({"a"}),
        json::object(),
    };
    return values;
}

const DialectTool& line_of(std::string_view name)
{
    const auto& tools = find_dialect("claude")->tools;
    const auto found = std::find_if(tools.begin(), tools.end(),
                                    [&](const auto& line) { return line.name == name; });
    REQUIRE(found != tools.end());
    return *found;
}

json own(std::string_view name, const json& arguments, const Settings& settings = {})
{
    return own_arguments(line_of(name), arguments, settings);
}

std::string complaint(const DialectTool& line, const json& arguments)
{
    try {
        (void)own_arguments(line, arguments, Settings{});
        return {};
    } catch (const berth::Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_FALSE(error.hint().empty());
        return error.what();
    }
}

/// What neither schema of the tool can say.
bool only_a_decoder_can_say(const std::string& what)
{
    return what == "No changes to make: old_string and new_string are exactly the same." ||
           what == "context and -C are the same argument and have different values";
}

void check_agreement(const DialectTool& line, const json& arguments)
{
    const auto by_schema = test::schema_complaint(line.input_schema, arguments);
    const auto by_decoder = complaint(line, arguments);
    INFO(line.name, " ", arguments.dump(), "\nschema: ", by_schema, "\ndecoder: ", by_decoder);
    CHECK((by_schema.empty() == by_decoder.empty() ||
           (by_schema.empty() && only_a_decoder_can_say(by_decoder))));
    if (!by_decoder.empty()) {
        return;
    }
    // What is accepted here is accepted by the tool, in the names of its own schema.
    const auto* tool = find_tool(line.tool);
    REQUIRE(tool != nullptr);
    const auto mapped = own_arguments(line, arguments, Settings{});
    CHECK(tool->canonical(mapped) == mapped);
    // The tool itself says what is wrong with a range of pages.
    const bool odd_pages = line.name == "Read" && arguments.contains("pages");
    CHECK((odd_pages || test::schema_complaint(tool->input_schema, mapped).empty()));
    if (!odd_pages && !(line.name == "Bash" && arguments.at("command") == "")) {
        CHECK_NOTHROW(tool->check(mapped));
    }
}

} // namespace

TEST_CASE(
    "the dialect's schema and mapping accept the same arguments, and the tool what comes of it")
{
    for (const auto& [name, minimal] : minimal_arguments()) {
        const auto& line = line_of(name);
        check_agreement(line, minimal);
        CHECK(complaint(line, minimal) == "");
        CHECK(complaint(line, json::object()) != "");
        const auto schema = json::parse(line.input_schema);
        for (const auto& [key, property] : schema.at("properties").items()) {
            auto without = minimal;
            without.erase(key);
            check_agreement(line, without);
            for (const auto& value : odd_values()) {
                auto arguments = minimal;
                arguments[key] = value;
                check_agreement(line, arguments);
            }
        }
        auto unknown = minimal;
        unknown["no_such_argument"] = 1;
        check_agreement(line, unknown);
    }
}

TEST_CASE("the table names the arguments of the schema, and each complaint does")
{
    for (const auto& [name, minimal] : minimal_arguments()) {
        const auto& line = line_of(name);
        const auto properties = json::parse(line.input_schema).at("properties");
        std::size_t served = 0;
        for (const auto& argument : line.arguments) {
            INFO(name, " ", argument.name);
            served += argument.handed_on ? 0 : 1;
            CHECK(properties.contains(argument.name) == !argument.handed_on);
            if (!argument.handed_on) {
                auto arguments = minimal;
                arguments[std::string(argument.name)] = json::object();
                CHECK(complaint(line, arguments).starts_with(std::string(argument.name) + ": "));
            }
        }
        CHECK(served == properties.size());
        for (const auto& property : properties) {
            CHECK_FALSE(property.at("description").get<std::string>().empty());
        }
    }
}

TEST_CASE("arguments are renamed, and given defaults where those differ")
{
    CHECK(own("Bash", {{"command", "ls"}, {"description", "list"}}) == json{{"command", "ls"}});
    CHECK(own("Write", {{"file_path", "/a"}, {"content", "x"}}) ==
          json{{"path", "/a"}, {"content", "x"}});
    CHECK(own("Edit", {{"file_path", "/a"}, {"old_string", "x"}, {"new_string", "y"}}) ==
          json{{"path", "/a"}, {"old_text", "x"}, {"new_text", "y"}});
    CHECK(own("Edit", {{"file_path", "/a"},
                       {"old_string", ""},
                       {"new_string", "y"},
                       {"replace_all", true}}) ==
          json{{"path", "/a"}, {"old_text", ""}, {"new_text", "y"}, {"replace_all", true}});
    CHECK(own("Glob", {{"pattern", "*.c"}, {"path", "src"}}) ==
          json{{"pattern", "*.c"}, {"path", "src"}, {"limit", 100}});
    CHECK(own("Grep", {{"pattern", "a"}}) ==
          json{{"pattern", "a"}, {"output_mode", "files"}, {"newest_first", true}});
    CHECK(own("TaskStop", {{"task_id", "job-1"}}) == json{{"job_id", "job-1"}});
    CHECK(own("TaskStop", {{"shell_id", "job-1"}, {"task_id", nullptr}}) ==
          json{{"job_id", "job-1"}});
    CHECK(own("Grep", {{"pattern", "a.b"},
                       {"path", "src"},
                       {"glob", "*.c"},
                       {"type", "c"},
                       {"output_mode", "content"},
                       {"-A", 1},
                       {"-B", 2},
                       {"-C", 3},
                       {"-n", false},
                       {"-i", true},
                       {"-o", true},
                       {"head_limit", 0},
                       {"offset", 4},
                       {"multiline", true}}) == json{{"pattern", "(?s)a.b"},
                                                     {"path", "src"},
                                                     {"include", "*.c"},
                                                     {"type", "c"},
                                                     {"output_mode", "content"},
                                                     {"after", 1},
                                                     {"before", 2},
                                                     {"context", 3},
                                                     {"ignore_case", true},
                                                     {"only_matching", true},
                                                     {"limit", 0},
                                                     {"offset", 4},
                                                     {"multiline", true}});
    CHECK(own("Read", {{"file_path", "/a"}, {"offset", nullptr}, {"limit", nullptr}}) ==
          json{{"path", "/a"}});
}

TEST_CASE("milliseconds become seconds, never fewer than were asked for")
{
    const std::pair<std::int64_t, int> table[] = {{1, 1},    {999, 1},       {1000, 1},
                                                  {1001, 2}, {120'000, 120}, {7'200'000, 7200}};
    for (const auto& [milliseconds, seconds] : table) {
        CHECK(own("Bash", {{"command", "a"}, {"timeout", milliseconds}}).at("timeout") == seconds);
    }
    const auto above =
        test::caught([] { (void)own("Bash", {{"command", "a"}, {"timeout", 7'200'001}}); });
    CHECK(above.hint().find("milliseconds, at most 7200000") != std::string::npos);
    Settings settings;
    settings.exec_max_timeout = std::chrono::seconds(60);
    const auto limited =
        test::caught([&] { (void)own("Bash", {{"command", "a"}, {"timeout", 60'001}}, settings); });
    CHECK(std::string(limited.what()) ==
          "timeout: 60001 is above the maximum of 60000 ms that is set here");
    CHECK(limited.hint().find("milliseconds, at most 60000") != std::string::npos);
    settings.cuts_exec_timeout = true; // by the tool, which says so
    CHECK(own("Bash", {{"command", "a"}, {"timeout", 60'001}}, settings).at("timeout") == 61);
}

TEST_CASE("lines are counted from 1 here, and as lines to skip by the tool")
{
    for (const auto offset : {0, 1}) {
        CHECK_FALSE(own("Read", {{"file_path", "a"}, {"offset", offset}}).contains("offset"));
    }
    CHECK(own("Read", {{"file_path", "a"}, {"offset", 2}}).at("offset") == 1);
    CHECK(own("Read", {{"file_path", "a"}, {"offset", 100}, {"limit", 5}}) ==
          json{{"path", "a"}, {"offset", 99}, {"limit", 5}});
}

TEST_CASE("what is not in the schema goes to the tool, which says what becomes of it")
{
    const auto ignored = own("Bash", {{"command", "a"}, {"dangerouslyDisableSandbox", true}});
    CHECK(find_tool("bash_exec")->canonical(ignored) == json{{"command", "a"}});
    CHECK(own("Read", {{"file_path", "a"}, {"allow_large", true}}) ==
          json{{"path", "a"}, {"allow_large", true}});
}

TEST_CASE("a command in the background has the limits of a job")
{
    CHECK(own("Bash", {{"command", "a"}, {"run_in_background", true}, {"timeout", 5000}}) ==
          json{{"command", "a"}, {"background", true}, {"timeout", 5}});
    CHECK(own("Bash", {{"command", "a"}, {"run_in_background", false}}) == json{{"command", "a"}});
    Settings settings;
    settings.exec_max_timeout = std::chrono::seconds(60);
    CHECK_NOTHROW((void)own(
        "Bash", {{"command", "a"}, {"run_in_background", true}, {"timeout", 61'000}}, settings));
    CHECK(own("Read", {{"file_path", "a"}, {"pages", "1-5"}}) ==
          json{{"path", "a"}, {"pages", "1-5"}});
}

TEST_CASE("arguments of berth's own dialect are not arguments of this one")
{
    const std::pair<const char*, const char*> table[] = {
        {"Bash", "workdir"}, {"Bash", "background"}, {"Read", "path"},    {"Read", "encoding"},
        {"Write", "mode"},   {"Edit", "old_text"},   {"Edit", "dry_run"}, {"Glob", "limit"},
        {"Grep", "include"}, {"Grep", "fixed"},      {"Grep", "limit"}};
    for (const auto& [name, key] : table) {
        INFO(name, " ", key);
        auto arguments = minimal_arguments().at(name);
        arguments[key] = "x";
        CHECK(complaint(line_of(name), arguments).starts_with(std::string(key) + ": there is no "));
    }
}
