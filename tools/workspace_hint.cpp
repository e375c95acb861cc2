#include "tools/workspace_hint.hpp"

#include "sandbox/base/spelling.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/render.hpp"

#include <exception>
#include <string_view>
#include <vector>

namespace berth::tools {
namespace {

std::string_view name_of(std::string_view path)
{
    return path.substr(path.rfind('/') + 1);
}

/// The file of this name in another folder, else the path that is nearest; empty when none is.
std::string probably_meant(Context& context, const std::string& path)
{
    // As many as a hint is worth: each is looked at on the disk.
    constexpr std::size_t looked_at = 1000;
    std::size_t total = 0;
    std::vector<std::string> paths;
    for (auto& entry : context.workspace.list(context.session.principal, "/", looked_at, total)) {
        if (name_of(entry.path) == name_of(path)) {
            return entry.path;
        }
        paths.push_back(std::move(entry.path));
    }
    return nearest(path, paths);
}

} // namespace

Error missing_in_workspace(Context& context, const std::string& path, const std::string& message)
{
    std::string meant;
    try {
        meant = probably_meant(context, path);
    } catch (const std::exception&) {
        meant.clear(); // a hint less
    }
    return {ErrorCode::not_found, message,
            (meant.empty() ? "" : "Did you mean " + visible(meant) + "? ") +
                "list_workspace_files shows what there is."};
}

Error folder_not_deleted(Context& context, const std::string& path, const Error& cause)
{
    constexpr std::size_t named = 10;
    std::size_t total = 0;
    std::string files;
    try {
        for (const auto& entry :
             context.workspace.list(context.session.principal, path, named, total)) {
            files += (files.empty() ? "" : ", ") + visible(entry.path);
        }
    } catch (const std::exception&) {
        return cause; // says what it is without what is in it
    }
    return {cause.code(), std::string(cause.what()) + " of " + counted(total, "file"),
            "A call deletes one file, and a folder goes with its last one. Delete each: " + files +
                (total > named
                     ? " …; list_workspace_files {\"prefix\": \"" + visible(path) + "\"} shows all."
                     : ".")};
}

} // namespace berth::tools
