#include "server/guide.hpp"
#include "server/mcp/request_context.hpp"
#include "tests/unit/server/recording_sink.hpp"
#include "tools/dialect.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test
using nlohmann::json;

namespace {

std::string guide(const std::vector<std::string>& wanted, const tools::Dialect* dialect = nullptr,
                  bool has_files = true)
{
    const auto catalog = mcp::select_tools(tools::tools_in(dialect), wanted, false);
    const auto prompt =
        make_guide_prompt([] { return "It is a machine."; }, catalog, dialect, has_files);
    const auto sink = std::make_shared<test::RecordingSink>();
    rpc::Message message;
    message.id = "1";
    const mcp::RequestContext context(
        std::make_shared<rpc::Call>(std::move(message), sink, sink, [] {}), mcp::Era::modern,
        {.capabilities = std::make_shared<const json>(json::object()), .log_level = {}});
    const auto made = prompt.get(context, json::object());
    CHECK((*made.members)["messages"][0]["role"] == "user");
    return (*made.members)["messages"][0]["content"]["text"];
}

} // namespace

TEST_CASE("the guide has the instructions, and names the tools that are served")
{
    const auto all = guide({});
    CHECK(all.starts_with("It is a machine."));
    CHECK(all.size() < 2000);
    for (const auto* name : {"session_info", "bash_output", "grep_files", "edit_file",
                             "save_to_workspace", "workspace:///"}) {
        CAPTURE(name);
        CHECK(all.find(name) != std::string::npos);
    }
    const auto few = guide({"read_file", "edit_file"});
    CHECK(few.find("edit_file") != std::string::npos);
    for (const auto* name : {"session_info", "bash_", "grep_files", "workspace"}) {
        CAPTURE(name);
        CHECK(few.find(name) == std::string::npos);
    }
}

TEST_CASE("where nobody has files the guide tells of no resources")
{
    CHECK(guide({}, nullptr, /*has_files=*/false).find("workspace:///") == std::string::npos);
}

TEST_CASE("the guide speaks the dialect of the tools")
{
    const auto text = guide({}, tools::find_dialect("claude"));
    CHECK(text.find("bash_exec") == std::string::npos);
    CHECK(text.find("Bash") != std::string::npos);
}
