#include "tools/tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

class NoBackend final : public berth::sandbox::Backend {
  public:
    [[nodiscard]] std::string_view name() const noexcept override { return "none"; }

    [[nodiscard]] berth::sandbox::Availability availability() override { return {}; }

    [[nodiscard]] std::unique_ptr<berth::sandbox::Machine>
    create(const berth::sandbox::MachineSpec& /*spec*/) override
    {
        return nullptr;
    }

    [[nodiscard]] std::unique_ptr<berth::sandbox::Machine>
    attach(const berth::sandbox::MachineRecord& /*record*/) override
    {
        return nullptr;
    }

    void destroy(const berth::sandbox::MachineRecord& /*record*/, bool /*purge*/) override {}

    [[nodiscard]] std::string description() const override { return "a machine for tests"; }
};

} // namespace

TEST_CASE("the table is sorted, so that it can be searched and lists in one order")
{
    const auto& tools = all_tools();
    CHECK(tools.size() == 14);
    CHECK(std::is_sorted(tools.begin(), tools.end(),
                         [](const Entry& a, const Entry& b) { return a.name < b.name; }));
    for (const auto& tool : tools) {
        CHECK(find_tool(tool.name) == &tool);
    }
    CHECK(find_tool("bash") == nullptr);
    CHECK(find_tool("") == nullptr);
    CHECK(find_tool("zzz") == nullptr);
}

TEST_CASE("descriptions are short, have an example that the tool takes, and follow the settings")
{
    NoBackend backend;
    std::size_t listed = 0; // as tools/list has them, without what is said of the sandbox
    for (const auto& tool : all_tools()) {
        INFO(tool.name);
        const auto text = tool.describe(Settings{}, backend);
        CHECK(text.size() < 2000);
        listed += text.size() + tool.input_schema.size() + tool.name.size() + 300;
        const auto example = text.find("Example: {");
        REQUIRE(example != std::string::npos);
        const auto arguments = nlohmann::json::parse(text.substr(text.find('{', example)));
        CHECK_NOTHROW(tool.check(tool.canonical(arguments)));
        CHECK(tool.canonical(arguments) == arguments); // canonical names only
    }
    CHECK(listed < 24 * 1024);
    Settings settings;
    settings.exec_timeout = std::chrono::seconds(77);
    const auto bash = find_tool("bash_exec")->describe(settings, backend);
    CHECK(bash.find("default 77") != std::string::npos);
    CHECK(bash.find("a machine for tests") != std::string::npos);
}

TEST_CASE("annotations are true to the tool")
{
    for (const auto* name : {"read_file", "glob_files", "grep_files", "list_workspace_files",
                             "session_info", "bash_output"}) {
        CHECK(find_tool(name)->annotations.read_only);
        CHECK_FALSE(find_tool(name)->annotations.destructive);
    }
    for (const auto* name : {"bash_exec", "bash_input", "bash_kill", "write_file", "edit_file",
                             "save_to_workspace", "load_from_workspace", "delete_workspace_file"}) {
        CHECK_FALSE(find_tool(name)->annotations.read_only);
        CHECK(find_tool(name)->annotations.destructive);
    }
}

TEST_CASE("bodies name members of the output schema")
{
    for (const auto& tool : all_tools()) {
        const auto schema = nlohmann::json::parse(tool.output_schema);
        std::string bodies(tool.bodies);
        for (std::size_t at = 0; at < bodies.size();) {
            const auto end = std::min(bodies.find(' ', at), bodies.size());
            CHECK(schema.at("properties").contains(bodies.substr(at, end - at)));
            at = end + 1;
        }
    }
}
