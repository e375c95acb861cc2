#include "server/guide.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::server {
namespace {

using nlohmann::json;

struct Advice {
    std::vector<std::string_view> tools; ///< all of which it needs
    std::string_view text;
};

std::string advice_for(const mcp::Catalog& catalog, bool has_files)
{
    const std::array all{
        Advice{{"session_info"},
               "session_info tells what runs, the limits in force and when the machine pauses or "
               "ends."},
        Advice{{"bash_exec", "bash_output"},
               "What takes minutes runs in the background of bash_exec; bash_output waits for it "
               "and has what it printed."},
        Advice{{"read_file", "grep_files", "glob_files"},
               "glob_files and grep_files find the place, read_file shows it with line numbers."},
        Advice{{"edit_file"}, "edit_file changes a part and leaves the rest of the file as it is."},
        Advice{{"save_to_workspace", "list_workspace_files"},
               has_files ? "What the user should keep goes to the workspace with "
                           "save_to_workspace; each file there is a resource, workspace:///PATH."
                         : std::string_view()},
    };
    std::string text;
    for (const auto& each : all) {
        if (!each.text.empty() &&
            std::ranges::all_of(each.tools, [&](auto name) { return catalog.serves(name); })) {
            text += text.empty() ? "\n\n- " : "\n- ";
            text += each.text;
        }
    }
    return text;
}

} // namespace

mcp::Prompt make_guide_prompt(std::function<std::string()> instructions,
                              const mcp::Catalog& catalog, const tools::Dialect* dialect,
                              bool has_files)
{
    mcp::Prompt prompt{.name = "sandbox-guide",
                       .title = "Guide to the sandbox",
                       .description = "What this sandbox is and how to work in it, for the model.",
                       .get = {},
                       .drawing = "guide"};
    prompt.get = [instructions = std::move(instructions),
                  advice = tools::in_words_of(dialect, advice_for(catalog, has_files))](
                     const mcp::RequestContext& /*context*/, const json& /*arguments*/) {
        const json content{{"type", "text"}, {"text", instructions() + advice}};
        const json message{{"role", "user"}, {"content", content}};
        return mcp::Outcome(json{{"description", "The sandbox of this session"},
                                 {"messages", json::array({message})}});
    };
    return prompt;
}

} // namespace berth::server
