#include "server/mcp/icons.hpp"

#include "sandbox/base/base64.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace berth::mcp {
namespace {

struct Drawing {
    std::string_view name;
    std::string_view path; ///< on a field of 24 by 24, drawn as a line of 2
};

// Commands have a terminal, files a sheet, the workspace a tray.
constexpr std::array drawings{
    Drawing{"bash_exec", "M3 4h18v16H3zM7 9l3 3-3 3M12 15h5"},
    Drawing{"bash_input", "M9 4h12v16H9M2 12h12M10 8l4 4-4 4"},
    Drawing{"bash_kill", "M3 4h18v16H3zM9 9l6 6M15 9l-6 6"},
    Drawing{"bash_output", "M3 4h18v16H3zM7 9h10M7 12h10M7 15h5"},
    Drawing{"berth", "M12 8v13M8 11h8M4 14a8 7 0 0 0 16 0M14 5a2 2 0 1 1-4 0 2 2 0 0 1 4 0"},
    Drawing{"delete_workspace_file", "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13"},
    Drawing{"edit_file", "M4 20l1-5L16 4l4 4L9 19zM13 7l4 4"},
    Drawing{"glob_files", "M12 3v18M4.2 7.5l15.6 9M19.8 7.5l-15.6 9"},
    Drawing{"grep_files", "M16 10a6 6 0 1 1-12 0 6 6 0 0 1 12 0M14.5 14.5L21 21"},
    Drawing{"guide", "M12 6c-2-2-5-2-8-2v14c3 0 6 0 8 2 2-2 5-2 8-2V4c-3 0-6 0-8 2v14"},
    Drawing{"list_workspace_files", "M4 6h2M9 6h11M4 12h2M9 12h11M4 18h2M9 18h11"},
    Drawing{"load_from_workspace", "M4 14v6h16v-6M12 4v11M8 11l4 4 4-4"},
    Drawing{"read_file", "M6 3h8l4 4v14H6zM9 11h6M9 15h6"},
    Drawing{"save_to_workspace", "M4 14v6h16v-6M12 15V4M8 8l4-4 4 4"},
    Drawing{"session", "M4 4h16v7H4zM4 13h16v7H4zM7 7.5h2M7 16.5h2"},
    Drawing{"session_info", "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0M12 11v6M12 7v1"},
    Drawing{"workspace", "M3 5h6l2 3h10v11H3z"},
    Drawing{"write_file", "M6 3h8l4 4v14H6zM12 10v6M9 13h6"},
};

} // namespace

nlohmann::json icons_of(std::string_view drawing)
{
    const auto* const found = std::ranges::find(drawings, drawing, &Drawing::name);
    if (found == drawings.end()) {
        return nlohmann::json::array();
    }
    // A colour that is seen on white and on black alike, so one drawing does for both themes.
    std::string svg = R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" )"
                      R"(fill="none" stroke="#0d9488" stroke-width="2"><path d=")";
    svg += found->path;
    svg += R"("/></svg>)";
    return {{{"src", "data:image/svg+xml;base64," + base64_encode(svg)},
             {"mimeType", "image/svg+xml"},
             {"sizes", {"any"}}}};
}

void put_icons(nlohmann::json& object, std::string_view drawing, const RequestContext& context)
{
    if (auto icons = icons_of(drawing); !icons.empty() && context.client().knows_icons) {
        object["icons"] = std::move(icons);
    }
}

} // namespace berth::mcp
