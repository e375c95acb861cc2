#include "sandbox/base/base64.hpp"
#include "server/mcp/era.hpp"
#include "server/mcp/icons.hpp"
#include "tools/dialect.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <string_view>

using berth::mcp::icons_of;
using nlohmann::json;

namespace {

/// The SVG of the one icon; fails for anything but that in a short data: URI.
std::string drawing_in(const json& icons)
{
    REQUIRE(icons.size() == 1);
    const auto& icon = icons.at(0);
    CHECK(icon.at("mimeType") == "image/svg+xml");
    CHECK(icon.at("sizes") == json::array({"any"}));
    const auto uri = icon.at("src").get<std::string>();
    constexpr std::string_view begin = "data:image/svg+xml;base64,";
    CHECK(uri.size() < 400);
    REQUIRE(uri.starts_with(begin));
    const auto svg = berth::base64_decode(uri.substr(begin.size()));
    REQUIRE(svg.has_value());
    return *svg;
}

} // namespace

TEST_SUITE("server/mcp/icons")
{
    TEST_CASE("every tool, in whatever dialect, has a drawing of its own")
    {
        std::set<std::string> seen;
        for (const auto& tool : berth::tools::all_tools()) {
            seen.insert(drawing_in(icons_of(tool.name)));
        }
        CHECK(seen.size() == berth::tools::all_tools().size());
        for (const auto& tool : berth::tools::tools_in(berth::tools::find_dialect("claude"))) {
            CHECK(seen.count(drawing_in(icons_of(berth::tools::own_name(tool)))) == 1);
        }
        CHECK(icons_of("no tool").empty());
    }

    TEST_CASE("a drawing is a line and nothing that runs, fetches or writes")
    {
        for (const auto* const name : {"berth", "guide", "session", "workspace", "bash_exec"}) {
            const auto svg = drawing_in(icons_of(name));
            CHECK(
                svg.starts_with(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24")"));
            CHECK(svg.ends_with(R"("/></svg>)"));
            CHECK(svg.find("<path d=\"M") != svg.npos);
            CHECK(svg.find("href") == svg.npos);
        }
    }

    TEST_CASE("the two newest revisions know of icons, and no older one")
    {
        for (const auto version : {"2025-11-25", "2026-07-28"}) {
            CHECK(berth::mcp::has_icons(version));
        }
        for (const auto version : {"2025-06-18", "2025-03-26", "2024-11-05"}) {
            CHECK_FALSE(berth::mcp::has_icons(version));
        }
    }
}
