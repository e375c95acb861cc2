#include "tools/delete_workspace_file.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"
#include "tools/workspace_hint.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace berth::tools {

std::span<const Alias> DeleteWorkspaceFile::aliases()
{
    static constexpr std::array table = {Alias{"path", "workspace_path"}};
    return table;
}

DeleteWorkspaceFile::Args DeleteWorkspaceFile::decode(const nlohmann::json& arguments)
{
    Args args;
    Decoder in(arguments);
    in.required("workspace_path", args.workspace_path, Length{1});
    in.finish();
    return args;
}

std::string DeleteWorkspaceFile::describe(const Settings& /*settings*/,
                                          sandbox::Backend& /*backend*/)
{
    return "Deletes one file of the workspace for good. Files in the sandbox are not touched: "
           "delete those with bash_exec.\n\n"
           "Example: {\"workspace_path\": \"/reports/old.pdf\"}";
}

Result DeleteWorkspaceFile::run(Context& context, const Args& args)
{
    require_principal(context);
    const std::string path = workspace::normalise(args.workspace_path);
    try {
        context.workspace.remove(context.session.principal, path);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::not_found) {
            throw missing_in_workspace(context, path, error.what());
        }
        if (error.code() == ErrorCode::is_directory) {
            throw folder_not_deleted(context, path, error);
        }
        throw;
    }
    const std::string message = "Deleted " + visible(path) + " from the workspace";
    return {message,
            nlohmann::json{{"message", message}, {"workspace_path", utf8::sanitize(path)}}};
}

} // namespace berth::tools
