#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <string>
#include <vector>

namespace berth::workspace {

/// The tree of one principal's files, addressed by normalised paths below the open directory
/// `root`. Folders are implied by the files in them. No symlink is ever followed: there is none in
/// a store, and one that somebody planted must not lead out of it.

struct SplitPath {
    std::string folder; ///< "/" or "/a/b"
    std::string name;
};

/// Throws Error(invalid_path) for "/", which names no file.
[[nodiscard]] SplitPath split(const std::string& path);

/// `flags` as for open(2). Invalid when there is nothing of that path (errno says ENOENT or
/// ENOTDIR); throws Error for anything else.
[[nodiscard]] UniqueFd open_below(int root, const std::string& path, int flags);

/// Opens the folder, made with its parents when missing (and flushed to the disk, if `flush`).
/// Throws Error(conflict) when a file is in the way.
[[nodiscard]] UniqueFd open_or_make_folder(int root, const std::string& folder, bool flush);

/// Removes the folder if it is empty, then its parents as far as they are.
void prune(int root, std::string folder) noexcept;

/// Removes a folder in which there is no file at any depth (a crash between making folders and
/// placing the file leaves such). False if it stays.
bool remove_hollow(int dirfd, const std::string& name);

/// The paths of all files below `folder`, in no order.
[[nodiscard]] std::vector<std::string> files_below(int root, const std::string& folder);

} // namespace berth::workspace
