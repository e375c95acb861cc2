#include "tools/load_from_workspace.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/protocol/frame.hpp"
#include "tools/decode.hpp"
#include "tools/progress.hpp"
#include "tools/protection_report.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"
#include "tools/transfer.hpp"
#include "tools/workspace_hint.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace berth::tools {
namespace {

/// The files of one load as the bytes of a transfer, one piece at a time.
class Download {
  public:
    Download(Context& context, std::string prefix, std::vector<workspace::Entry> entries)
        : context_(context), prefix_(std::move(prefix)), entries_(std::move(entries)),
          progress_(context.progress)
    {
    }

    [[nodiscard]] bool single() const
    {
        return entries_.size() == 1 && entries_[0].path == prefix_;
    }

    [[nodiscard]] const std::vector<workspace::Entry>& entries() const noexcept { return entries_; }

    /// Of the files below a prefix, as their headers say them.
    [[nodiscard]] std::vector<std::string> names() const
    {
        std::vector<std::string> names;
        names.reserve(entries_.size());
        for (const auto& entry : entries_) {
            names.push_back(name_of(entry.path));
        }
        return names;
    }

    /// Empty at the end.
    [[nodiscard]] std::string next()
    {
        while (true) {
            if (reader_ != nullptr) {
                auto piece = reader_->read(protocol::max_data_size);
                if (!piece.empty()) {
                    progress_.add(piece.size());
                    return piece;
                }
                reader_.reset();
            }
            if (next_ == entries_.size()) {
                return {};
            }
            return begin(entries_[next_++]);
        }
    }

  private:
    std::string begin(workspace::Entry& entry)
    {
        reader_ = context_.workspace.open(context_.session.principal, entry.path);
        // It may have been replaced since it was listed. Of one file the newest is as good, several
        // must not be a mixture of before and after a save.
        if (!single() && reader_->entry().sha256 != entry.sha256) {
            throw Error(ErrorCode::conflict,
                        visible(entry.path) + " was replaced in the workspace during the load",
                        "Load again: what has arrived so far may be of two saves.");
        }
        entry = reader_->entry();
        progress_.begin(name_of(entry.path));
        return transfer_header({name_of(entry.path), entry.size, entry.mode, single()});
    }

    [[nodiscard]] std::string name_of(const std::string& path) const
    {
        if (single()) {
            return path.substr(path.rfind('/') + 1);
        }
        return path.substr(prefix_ == "/" ? 1 : prefix_.size() + 1);
    }

    Context& context_;
    std::string prefix_;
    std::vector<workspace::Entry> entries_;
    std::unique_ptr<workspace::Reader> reader_;
    std::size_t next_ = 0;
    TransferProgress progress_;
};

Download find_files(Context& context, const LoadFromWorkspace::Args& args)
{
    const std::string prefix = workspace::normalise(args.workspace_path);
    std::size_t total = 0;
    auto entries =
        context.workspace.list(context.session.principal, prefix, max_transfer_files, total);
    if (entries.empty()) {
        throw missing_in_workspace(context, prefix,
                                   "the workspace has no file at or below " + visible(prefix));
    }
    std::uint64_t bytes = 0;
    for (const auto& entry : entries) {
        bytes += entry.size;
    }
    require_loadable(total, bytes);
    return {context, prefix, std::move(entries)};
}

std::string default_target(const std::string& prefix)
{
    const std::string name = prefix.substr(prefix.rfind('/') + 1);
    return "~/" + (name.empty() ? "workspace" : name);
}

void check_arrived(const Download& download, const protocol::ImportReply& reply)
{
    bool same = reply.files.size() == download.entries().size();
    for (std::size_t i = 0; same && i < reply.files.size(); ++i) {
        same = reply.files[i].sha256 == download.entries()[i].sha256;
    }
    if (!same) {
        throw Error(ErrorCode::backend_error,
                    "what arrived in the sandbox is not what the workspace has",
                    "Load it again; what has arrived so far is not to be relied on.");
    }
}

Result report(const Download& download, const protocol::ImportReply& reply,
              const Settings& settings)
{
    std::uint64_t total = 0;
    auto files = nlohmann::json::array();
    std::string lines;
    for (std::size_t i = 0; i < reply.files.size(); ++i) {
        const auto& file = reply.files[i];
        total += file.size;
        files.push_back({{"workspace_path", utf8::sanitize(download.entries()[i].path)},
                         {"sandbox_path", utf8::sanitize(file.path)},
                         {"size_bytes", file.size},
                         {"sha256", file.sha256}});
        if (lines.size() < settings.output_budget) {
            lines += visible(file.path) + "  " + human_bytes(file.size) + "\n";
        }
    }
    const std::string message = "Loaded " + counted(reply.files.size(), "file") + " (" +
                                human_bytes(total) + ") into the sandbox";
    return {message + ":\n" + lines, nlohmann::json{
                                         {"message", message},
                                         {"files", std::move(files)},
                                         {"total_bytes", total},
                                     }};
}

} // namespace

std::span<const Alias> LoadFromWorkspace::aliases()
{
    static constexpr std::array table = {
        Alias{"path", "workspace_path"},
        Alias{"save_to_path", "sandbox_path"},
    };
    return table;
}

LoadFromWorkspace::Args LoadFromWorkspace::decode(const nlohmann::json& arguments)
{
    Args args;
    Decoder in(arguments);
    in.required("workspace_path", args.workspace_path, Length{1});
    in.optional("sandbox_path", args.sandbox_path, Length{1});
    in.finish();
    return args;
}

std::string LoadFromWorkspace::describe(const Settings& /*settings*/, sandbox::Backend& /*backend*/)
{
    return "Copies files from the workspace, which outlives every sandbox, into the sandbox. "
           "workspace_path is a file, or a prefix: every file below it. sandbox_path is the file's "
           "path, or the directory for a prefix; without it the name stays and goes to the home "
           "directory. Files that are there are replaced. list_workspace_files shows what there "
           "is.\n\n"
           "Example: {\"workspace_path\": \"/data/input.csv\", \"sandbox_path\": \"~/input.csv\"}";
}

Result LoadFromWorkspace::run(Context& context, const Args& args)
{
    require_principal(context);
    Download download = find_files(context, args);
    protocol::ImportRequest request;
    request.single = download.single();
    request.path = args.sandbox_path.empty()
                       ? default_target(workspace::normalise(args.workspace_path))
                       : args.sandbox_path;
    if (request.single && request.path.ends_with('/')) {
        const auto& path = download.entries()[0].path;
        request.path += path.substr(path.rfind('/') + 1);
    }
    if (!request.single) {
        request.names = download.names();
    }
    request.protection = protection_of(context.settings);
    const auto reply = with_sandbox(context, [&](sandbox::Sandbox& sandbox) {
        return sandbox.import_files(request, [&] { return download.next(); }, context.stop);
    });
    check_arrived(download, reply);
    auto result = report(download, reply, context.settings);
    tell_protected(context, *result.data, reply.protected_changes);
    return result;
}

} // namespace berth::tools
