#include "tools/dialect.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

using nlohmann::json;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

const Dialect& claude()
{
    const auto* dialect = find_dialect("claude");
    REQUIRE(dialect != nullptr);
    return *dialect;
}

} // namespace

TEST_CASE("berth's own dialect is the table of tools itself")
{
    CHECK(find_dialect("berth") == nullptr);
    CHECK(find_dialect("") == nullptr);
    CHECK(&tools_in(nullptr) == &all_tools());
    for (const auto& tool : all_tools()) {
        CHECK(tool.dialect == nullptr);
        CHECK(own_name(tool) == tool.name);
    }
    CHECK(in_words_of(nullptr, "see bash_exec") == "see bash_exec");
}

TEST_CASE("a dialect serves every tool once, under its own name or the dialect's")
{
    const auto& tools = tools_in(&claude());
    CHECK(std::is_sorted(tools.begin(), tools.end(),
                         [](const Entry& a, const Entry& b) { return a.name < b.name; }));
    std::set<std::string_view> names;
    std::set<std::string_view> own;
    for (const auto& tool : tools) {
        names.insert(tool.name);
        own.insert(own_name(tool));
        CHECK(tool.dialect == &claude());
        const auto* of_berth = find_tool(own_name(tool));
        REQUIRE(of_berth != nullptr);
        CHECK((tool.run == of_berth->run)); // no second implementation
        CHECK(tool.output_schema == of_berth->output_schema);
        CHECK(tool.annotations.read_only == of_berth->annotations.read_only);
        CHECK((tool.line != nullptr || tool.input_schema == of_berth->input_schema));
    }
    CHECK(names.size() == all_tools().size());
    CHECK(own.size() == all_tools().size());
    for (const auto* name : {"Bash", "Edit", "Glob", "Grep", "Read", "TaskStop", "Write",
                             "session_info", "save_to_workspace"}) {
        CHECK(names.count(name) == 1);
    }
}

TEST_CASE("names of tools are exchanged as words, not within paths, quotes and longer names")
{
    const auto words = [](const char* text) { return in_words_of(&claude(), text); };
    CHECK(words("read_file pages it") == "Read pages it");
    CHECK(words("use sed in bash_exec.") == "use sed in Bash.");
    CHECK(words("(grep_files, glob_files; write_file: edit_file)") == "(Grep, Glob; Write: Edit)");
    CHECK(words("/home/user/read_file does not exist") == "/home/user/read_file does not exist");
    CHECK(words("read_file/a and read_file.txt and a.read_file") ==
          "read_file/a and read_file.txt and a.read_file");
    CHECK(words("my_read_file, read_files, read_file-2") ==
          "my_read_file, read_files, read_file-2");
    CHECK(words("read_fileread_file") == "read_fileread_file");
    CHECK(words("the string \"bash_exec\"") == "the string \"bash_exec\"");
    CHECK(words("save_to_workspace") == "save_to_workspace");
    CHECK(words("set `fixed` to search for the text as it stands") ==
          "write a backslash before what is meant as it stands");
    CHECK(words("bash_exec with background starts one.") ==
          "Bash with run_in_background starts one.");
    CHECK(words("") == "");
}

TEST_CASE("an error keeps code, details, output and whether it may be tried again")
{
    auto original = berth::Error(berth::ErrorCode::busy, "full", "wait");
    original.with_detail("n", "1").set_retryable(false).with_output("printed");
    const auto told = with_facts_of(original, berth::Error(berth::ErrorCode::busy, "voll"));
    CHECK(std::string(told.what()) == "voll");
    CHECK(told.details().at("n") == "1");
    CHECK(told.output() == "printed");
    CHECK_FALSE(told.retryable());
}
