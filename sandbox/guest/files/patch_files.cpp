#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/document_facts.hpp"
#include "sandbox/guest/files/edit_diff.hpp"
#include "sandbox/guest/files/edit_errors.hpp"
#include "sandbox/guest/files/file_lock.hpp"
#include "sandbox/guest/files/patch_target.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"

#include <deque>
#include <exception>
#include <map>
#include <set>
#include <utility>

namespace berth::guest {
namespace {

using protocol::PatchFilesReply;
using protocol::PatchFilesRequest;

/// Where a file of the patch is, or will be.
struct NamedFile {
    std::string given; ///< in the patch
    std::size_t line = 0;
};

/// A file is no folder: none is where another one needs one. By where they really are.
void require_no_folder(const std::map<std::string, NamedFile>& files)
{
    for (const auto& [path, inner] : files) {
        for (auto slash = path.find('/', 1); slash != std::string::npos;
             slash = path.find('/', slash + 1)) {
            const auto outer = files.find(path.substr(0, slash));
            if (outer != files.end()) {
                throw Error(ErrorCode::invalid_argument,
                            "line " + std::to_string(inner.line) +
                                " of patch: " + visible(inner.given) + " would be in " +
                                visible(outer->second.given) + ", which is a file in line " +
                                std::to_string(outer->second.line),
                            "give one of them another name: a file cannot be a folder too");
            }
        }
    }
}

/// Each file once, by whatever name: what a second entry would change is not there yet, and its
/// lock would wait for this very call.
void require_distinct(const std::vector<PatchEntry>& entries, const CallContext& context)
{
    std::map<std::string, NamedFile> paths;
    std::map<std::pair<dev_t, ino_t>, std::size_t> files;
    const auto look = [&](const std::string& path, std::size_t line) {
        const WriteTarget target = find_write_target(path, context);
        const auto by_path = paths.emplace(target.path(), NamedFile{path, line});
        const auto by_file =
            target.exists()
                ? files.emplace(std::pair(target.status.st_dev, target.status.st_ino), line)
                : std::pair(files.end(), true);
        if (!by_path.second || !by_file.second) {
            const std::size_t first =
                by_path.second ? by_file.first->second : by_path.first->second.line;
            const std::string what = "line " + std::to_string(line) + " of patch: " + visible(path);
            if (first == line) {
                throw Error(ErrorCode::invalid_argument, what + " would be moved to itself",
                            "leave out *** Move to where the file keeps its name");
            }
            throw Error(ErrorCode::invalid_argument,
                        what + " is the same file as in line " + std::to_string(first),
                        "put all changes of a file under one *** Update File");
        }
    };
    for (const auto& entry : entries) {
        look(entry.path, entry.line);
        if (!entry.move_to.empty()) {
            look(entry.move_to, entry.line);
        }
    }
    require_no_folder(paths);
}

/// Undoes it all, the last first; what cannot be undone is told.
void undo(std::deque<PatchTarget>& targets, const CallContext& context, std::string& left)
{
    const CallContext unstoppable{context.config, context.session, {}, {}, {}};
    for (auto target = targets.rbegin(); target != targets.rend(); ++target) {
        try {
            target->undo(unstoppable);
        } catch (const std::exception& error) {
            left += (left.empty() ? "" : "; ") + std::string(error.what());
        }
    }
}

[[noreturn]] void rethrow_undone(const Error& error, const std::string& left)
{
    const std::string state =
        left.empty() ? "; no file was changed" : "; not all could be put back: " + left;
    Error told(error.code(), error.what() + state, error.hint());
    throw Error(told.with_details_of(error).set_retryable(error.retryable()));
}

/// All of them, or none.
void write_all(std::deque<PatchTarget>& targets, const CallContext& context)
{
    std::string left;
    try {
        for (auto& target : targets) {
            target.prepare();
        }
        throw_if_stopped(context);
        for (auto& target : targets) {
            target.put();
        }
        for (auto& target : targets) {
            target.remove();
        }
    } catch (const Error& error) {
        undo(targets, context, left);
        rethrow_undone(error, left);
    } catch (...) {
        undo(targets, context, left);
        throw;
    }
}

/// Throws where hunks change nothing: old lines that are met through their blanks may be the new
/// ones.
void add_diff(const PatchTarget& target, const PatchEntry& entry, std::uint64_t budget,
              PatchFilesReply& reply)
{
    if (!target.document()) {
        return;
    }
    if (!entry.hunks.empty() && entry.move_to.empty() && is_as_original(*target.document())) {
        throw Error(ErrorCode::invalid_argument,
                    "line " + std::to_string(entry.line) + " of patch: " +
                        visible(target.document()->path()) + " has already what its hunks make",
                    "nothing would change: leave the file out");
    }
    reply.diff_truncated |= reply.diff.size() >= budget;
    const auto diff =
        unified_diff(*target.document(), reply.diff_truncated ? 0 : budget - reply.diff.size(),
                     target.created(), target.binary());
    if (!reply.diff_truncated) {
        reply.diff += diff.text;
        reply.diff_truncated = diff.truncated;
    }
}

} // namespace

PatchFilesReply patch_files(const PatchFilesRequest& request, const CallContext& context)
{
    const auto entries = parse_patch(request.patch);
    // One patch at a time: each holds the locks of several files.
    const FileLock alone("patch", context);
    require_distinct(entries, context);
    const std::uint64_t max_size = request.max_size == 0 ? default_max_size : request.max_size;
    std::deque<PatchTarget> targets;
    PatchFilesReply reply;
    reply.dry_run = request.dry_run;
    for (const auto& entry : entries) {
        throw_if_stopped(context);
        targets.emplace_back(entry, max_size, context);
        add_diff(targets.back(), entry, request.diff_budget, reply);
    }
    if (!request.dry_run) {
        write_all(targets, context);
    }
    for (const auto& target : targets) {
        reply.files.push_back(target.result());
    }
    return reply;
}

} // namespace berth::guest
