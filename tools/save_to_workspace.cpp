#include "tools/save_to_workspace.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"
#include "tools/upload.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace berth::tools {
namespace {

/// "~/out/" -> "out"; empty for what has no name of its own.
std::string last_component(std::string_view path)
{
    while (path.ends_with('/')) {
        path.remove_suffix(1);
    }
    const auto slash = path.rfind('/');
    const auto name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    return name == "." || name == ".." || name == "~" ? std::string() : std::string(name);
}

/// Where a file goes.
std::string target_of(const protocol::TransferHeader& header, const SaveToWorkspace::Args& args)
{
    if (header.single) {
        const bool names_directory =
            args.workspace_path.empty() || args.workspace_path.ends_with('/');
        return names_directory ? args.workspace_path + "/" + header.name : args.workspace_path;
    }
    std::string directory = args.workspace_path;
    if (directory.empty() && !header.matched) {
        directory = last_component(args.sandbox_path);
    }
    return directory + "/" + header.name;
}

Result report(const std::vector<workspace::Entry>& entries, const Upload& upload,
              const protocol::ExportReply& reply, const Settings& settings)
{
    std::uint64_t total = 0;
    auto files = nlohmann::json::array();
    std::string lines;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto& entry = entries[i];
        const std::string from = (reply.root == "/" ? "" : reply.root) + "/" + upload.names()[i];
        total += entry.size;
        files.push_back({{"workspace_path", utf8::sanitize(entry.path)},
                         {"sandbox_path", utf8::sanitize(from)},
                         {"size_bytes", entry.size},
                         {"sha256", entry.sha256}});
        if (lines.size() < settings.output_budget) {
            lines += visible(entry.path) + "  " + human_bytes(entry.size) + "\n";
        }
    }
    auto skipped = nlohmann::json::array();
    for (const auto& item : reply.skipped) {
        skipped.push_back(utf8::sanitize(item));
        if (lines.size() < settings.output_budget) {
            lines += "skipped " + visible(item) + "\n";
        }
    }
    if (reply.skipped_total > reply.skipped.size()) {
        lines += "skipped " + std::to_string(reply.skipped_total - reply.skipped.size()) +
                 " more that are not named here\n";
    }
    const std::string message = "Saved " + counted(entries.size(), "file") + " (" +
                                human_bytes(total) + ") to the workspace";
    return {message + ":\n" + lines, nlohmann::json{
                                         {"message", message},
                                         {"files", std::move(files)},
                                         {"total_bytes", total},
                                         {"skipped", std::move(skipped)},
                                         {"skipped_total", reply.skipped_total},
                                     }};
}

[[noreturn]] void nothing_saved(const SaveToWorkspace::Args& args,
                                const protocol::ExportReply& reply)
{
    throw Error(ErrorCode::not_found,
                "there is no file to save at " + visible(args.sandbox_path) +
                    (reply.skipped.empty() ? "" : " (skipped: " + visible(reply.skipped[0]) + ")"),
                "glob_files shows which files there are; only regular files are saved.");
}

} // namespace

std::span<const Alias> SaveToWorkspace::aliases()
{
    static constexpr std::array table = {
        Alias{"source_path", "sandbox_path"},
        Alias{"file_path", "sandbox_path"},
        Alias{"filename", "workspace_path"},
    };
    return table;
}

SaveToWorkspace::Args SaveToWorkspace::decode(const nlohmann::json& arguments)
{
    Args args;
    Decoder in(arguments);
    in.required("sandbox_path", args.sandbox_path, Length{1});
    in.optional("workspace_path", args.workspace_path, Length{1});
    in.optional("overwrite", args.overwrite);
    in.finish();
    return args;
}

std::string SaveToWorkspace::describe(const Settings& /*settings*/, sandbox::Backend& /*backend*/)
{
    return "Copies files from the sandbox to the workspace, which outlives every sandbox and is "
           "shared by your user's sessions. Save what should be kept. sandbox_path is a file, a "
           "directory (with all below it) or a glob; either everything is saved or nothing. "
           "workspace_path is the file's new path, or the directory for several files; without it "
           "the name stays. Workspace paths begin with /. overwrite false refuses to replace.\n\n"
           "Example: {\"sandbox_path\": \"~/report/*.pdf\", \"workspace_path\": \"/reports\"}";
}

Result SaveToWorkspace::run(Context& context, const Args& args)
{
    require_principal(context);
    Upload upload(context.workspace, context.session.principal, args.overwrite, context.progress);
    const auto target = [&](const protocol::TransferHeader& header) {
        return std::optional(target_of(header, args));
    };
    const auto reply = with_sandbox(context, [&](sandbox::Sandbox& sandbox) {
        return upload.take(sandbox, {.path = args.sandbox_path}, target, context.stop);
    });
    if (upload.names().empty()) {
        nothing_saved(args, reply);
    }
    return report(upload.commit(context.stop), upload, reply, context.settings);
}

} // namespace berth::tools
