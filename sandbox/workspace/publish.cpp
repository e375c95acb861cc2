#include "sandbox/workspace/publish.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/workspace/journal.hpp"
#include "sandbox/workspace/store_error.hpp"
#include "sandbox/workspace/tree.hpp"

#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::workspace {
namespace {

void throw_if_stopped(const std::stop_token& stop)
{
    if (stop.stop_requested()) {
        throw Error(ErrorCode::cancelled, "the call was cancelled; nothing was saved",
                    "save again if it is still wanted");
    }
}

/// Several files are flushed with their file system, not one by one: a journal commit for each
/// would cost milliseconds, a thousand times.
void flush_contents(const Area& area, const std::vector<StoredWriter*>& writers)
{
    bool failed = false;
    if (writers.size() == 1) {
        const UniqueFd fd(::openat(area.temporary.get(), writers[0]->temporary_name().c_str(),
                                   O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        failed = !fd || ::fsync(fd.get()) != 0;
    } else {
        failed = ::syncfs(area.temporary.get()) != 0;
    }
    if (failed) {
        throw saving_error(errno, "flush files to the workspace's disk");
    }
}

/// Whether the writer's path is a file now. Makes its folder, and room where a crash left a hollow
/// one; throws when the file cannot be placed.
bool prepare(const Area& area, const StoredWriter& writer, bool flush)
{
    const std::string& path = writer.entry().path;
    const auto [folder_path, name] = split(path);
    const UniqueFd folder = open_or_make_folder(area.files.get(), folder_path, flush);
    struct stat status{};
    if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    if (S_ISDIR(status.st_mode)) {
        if (!remove_hollow(folder.get(), name)) {
            refuse_folder(path);
        }
        return false;
    }
    if (!writer.overwrites()) {
        refuse_existing(path);
    }
    return true;
}

/// What is replaced is kept aside when `keep`.
void place(const Area& area, const Placement& placement, bool keep)
{
    const auto [folder_path, name] = split(placement.path);
    const UniqueFd folder = open_below(area.files.get(), folder_path, O_RDONLY | O_DIRECTORY);
    const int temporary = area.temporary.get();
    const std::string old = replaced_name(placement.temporary);
    const bool done =
        folder.valid() &&
        (!keep || !placement.replaces ||
         ::renameat(folder.get(), name.c_str(), temporary, old.c_str()) == 0) &&
        ::renameat(temporary, placement.temporary.c_str(), folder.get(), name.c_str()) == 0;
    if (!done) {
        throw saving_error(errno, "place " + visible(placement.path) + " in the workspace");
    }
    if (!keep && ::fsync(folder.get()) != 0) {
        throw store_error(errno, "flush " + visible(folder_path) + " to the workspace's disk");
    }
}

std::vector<Placement> plan(const Area& area, const std::vector<StoredWriter*>& writers,
                            const std::stop_token& stop)
{
    std::vector<Placement> placements;
    placements.reserve(writers.size());
    try {
        for (const auto* writer : writers) {
            throw_if_stopped(stop);
            placements.push_back({writer->temporary_name(), writer->entry().path, false});
            placements.back().replaces = prepare(area, *writer, writers.size() == 1);
        }
    } catch (...) {
        for (const auto& placement : placements) {
            prune(area.files.get(), split(placement.path).folder);
        }
        throw;
    }
    return placements;
}

void place_all(const Area& area, const std::vector<Placement>& placements,
               const std::stop_token& stop)
{
    open_publication(area, placements);
    try {
        for (const auto& placement : placements) {
            throw_if_stopped(stop);
            place(area, placement, true);
        }
        close_publication(area);
    } catch (...) {
        // If this fails too the journal stays, and whoever comes next does it.
        undo_publication(area);
        throw;
    }
    for (const auto& placement : placements) {
        if (placement.replaces) {
            ::unlinkat(area.temporary.get(), replaced_name(placement.temporary).c_str(), 0);
        }
    }
}

} // namespace

void refuse_existing(const std::string& path)
{
    throw Error(Error(ErrorCode::conflict, "'" + visible(path) + "' exists in the workspace",
                      "set overwrite to true or choose another path")
                    .set_retryable(false));
}

void refuse_folder(const std::string& path)
{
    throw Error(Error(ErrorCode::conflict,
                      "'" + visible(path) + "' in the workspace is a folder with files in it",
                      "choose a path inside it or another name")
                    .set_retryable(false));
}

void publish(const std::vector<StoredWriter*>& writers, const std::stop_token& stop)
{
    if (writers.empty()) {
        return;
    }
    for (auto* writer : writers) {
        throw_if_stopped(stop);
        writer->seal();
    }
    const Area& area = writers.front()->area();
    // Content before name: after a power loss a name must never lead to an empty file. Before the
    // lock, since it may take long.
    flush_contents(area, writers);
    const AreaLock lock(area, AreaLock::Mode::exclusive);
    const auto placements = plan(area, writers, stop);
    if (placements.size() == 1) {
        place(area, placements.front(), false); // one rename is all or nothing by itself
    } else {
        place_all(area, placements, stop);
    }
    for (auto* writer : writers) {
        writer->placed();
    }
}

} // namespace berth::workspace
