#include "tools/edit_report.hpp"

#include "sandbox/base/enumeration.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/output_budget.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace berth::tools {
namespace {

struct ShownDiff {
    std::string text;
    std::string below; ///< the message's first line: the diff, and what is left out of it
    bool truncated = false;
};

ShownDiff shown_diff(const std::string& diff, bool truncated, const Settings& settings)
{
    const auto part = prefix_characters(diff, settings.output_budget);
    ShownDiff shown{.text = utf8::sanitize(part),
                    .below = {},
                    .truncated = truncated || part.size() < diff.size()};
    shown.below = (shown.text.empty() ? "" : "\n") + shown.text;
    if (shown.truncated) {
        shown.below += shown.text.ends_with('\n') ? "" : "\n";
        // Of a single line of 100 MB nothing is shown.
        shown.below +=
            shown.text.find("\n@@ ") == std::string::npos
                ? "[the diff is left out: what changes is too long to be shown; read_file "
                  "shows the file]"
                : "[the rest of the diff is left out; read_file shows the file]";
    }
    return shown;
}

std::string_view name_of(protocol::PatchAction action) noexcept
{
    switch (action) {
    case protocol::PatchAction::add:
        return "added";
    case protocol::PatchAction::remove:
        return "deleted";
    case protocol::PatchAction::move:
        return "moved";
    case protocol::PatchAction::update:
        break;
    }
    return "updated";
}

std::string line_for(const protocol::PatchedFile& file)
{
    std::string line = std::string(name_of(file.action)) + " " + visible(file.path);
    if (!file.moved_to.empty()) {
        line += " to " + visible(file.moved_to);
    }
    if (file.hunks > 0) {
        line += ": " + counted(file.hunks, "hunk");
    }
    if (!file.tolerated.empty()) {
        line += ", differing in " + enumerated(file.tolerated);
    }
    return line + short_hash(" · ", file.sha256) + "\n";
}

nlohmann::json json_of(const protocol::PatchedFile& file)
{
    nlohmann::json json = {{"path", utf8::sanitize(file.path)},
                           {"action", name_of(file.action)},
                           {"hunks", file.hunks},
                           {"size_bytes", file.size},
                           {"sha256", file.sha256},
                           {"tolerated", file.tolerated}};
    if (!file.moved_to.empty()) {
        json["moved_to"] = utf8::sanitize(file.moved_to);
    }
    return json;
}

} // namespace

Result edit_report(const protocol::EditFileReply& reply, const Settings& settings)
{
    std::string head = reply.dry_run   ? reply.created ? "Would create " : "Would edit "
                       : reply.created ? "Created "
                                       : "Edited ";
    head += visible(reply.path);
    head += reply.created ? ": " + counted(reply.size, "byte")
                          : ": " + counted(reply.replacements, "replacement");
    if (!reply.tolerated.empty()) {
        head += ", old_text differing in " + enumerated(reply.tolerated);
    }
    head += reply.dry_run ? " (dry run: nothing was changed)" : short_hash(" · ", reply.sha256);

    const ShownDiff diff = shown_diff(reply.diff, reply.diff_truncated, settings);
    return {head + diff.below, nlohmann::json{
                                   {"message", head},
                                   {"path", utf8::sanitize(reply.path)},
                                   {"replacements", reply.replacements},
                                   {"size_bytes", reply.size},
                                   {"sha256", reply.sha256},
                                   {"diff", diff.text},
                                   {"diff_truncated", diff.truncated},
                                   {"created", reply.created},
                                   {"dry_run", reply.dry_run},
                                   {"tolerated", reply.tolerated},
                               }};
}

Result patch_report(const protocol::PatchFilesReply& reply, const Settings& settings)
{
    if (reply.files.empty()) {
        throw Error(ErrorCode::backend_error, "the sandbox did not say which files it has patched",
                    "look at the files before the patch is tried again");
    }
    const std::string head = (reply.dry_run ? "Would patch " : "Patched ") +
                             counted(reply.files.size(), "file") +
                             (reply.dry_run ? " (dry run: nothing was changed)" : "");
    std::string lines;
    auto files = nlohmann::json::array();
    for (const auto& file : reply.files) {
        lines += line_for(file);
        files.push_back(json_of(file));
    }
    lines.pop_back();
    const ShownDiff diff = shown_diff(reply.diff, reply.diff_truncated, settings);
    return {head + "\n" + lines + diff.below, nlohmann::json{
                                                  {"message", head},
                                                  {"files", std::move(files)},
                                                  {"diff", diff.text},
                                                  {"diff_truncated", diff.truncated},
                                                  {"dry_run", reply.dry_run},
                                              }};
}

} // namespace berth::tools
