#include "tools/list_workspace_files.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"

#include <nlohmann/json.hpp>

namespace berth::tools {
namespace {

constexpr Range limit_range{1, 10'000};

} // namespace

std::span<const Alias> ListWorkspaceFiles::aliases()
{
    return {};
}

ListWorkspaceFiles::Args ListWorkspaceFiles::decode(const nlohmann::json& arguments)
{
    Args args;
    Decoder in(arguments);
    in.optional("prefix", args.prefix, Length{1});
    in.optional("limit", args.limit, limit_range);
    in.finish();
    return args;
}

std::string ListWorkspaceFiles::describe(const Settings& /*settings*/,
                                         sandbox::Backend& /*backend*/)
{
    return "Lists the files of the workspace, which outlives every sandbox and is shared by your "
           "user's sessions: path, size and time of change, by path. prefix narrows it to a "
           "directory. load_from_workspace brings files into the sandbox.\n\n"
           "Example: {\"prefix\": \"/reports\"}";
}

Result ListWorkspaceFiles::run(Context& context, const Args& args)
{
    require_principal(context);
    const std::string prefix = workspace::normalise(args.prefix);
    std::size_t total = 0;
    const auto entries = context.workspace.list(context.session.principal, prefix,
                                                static_cast<std::size_t>(args.limit), total);
    std::string text;
    auto files = nlohmann::json::array();
    for (const auto& entry : entries) {
        const std::string line =
            visible(entry.path) + "  " + human_bytes(entry.size) + "  " + entry.modified + "\n";
        if (text.size() + line.size() > context.settings.output_budget) {
            break;
        }
        text += line;
        files.push_back({{"workspace_path", utf8::sanitize(entry.path)},
                         {"size_bytes", entry.size},
                         {"sha256", entry.sha256},
                         {"modified", entry.modified}});
    }
    const std::string message = total == 0
                                    ? "The workspace has no files at or below " + visible(prefix)
                                    : counted(total, "file") + " at or below " + visible(prefix);
    if (total == 0) {
        text = message;
    } else if (files.size() < total) {
        text += "[" + thousands(files.size()) + " of " + counted(total, "file") +
                " listed; narrow the prefix or raise limit]";
    }
    return {text, nlohmann::json{
                      {"message", message},
                      {"prefix", utf8::sanitize(prefix)},
                      {"files", std::move(files)},
                      {"total", total},
                  }};
}

} // namespace berth::tools
