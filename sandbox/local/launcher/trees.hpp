#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <vector>

namespace berth::local {

/// The steps that fail where a file system maps no ids, by the owner of the mount's source: berth
/// runs as root there, and only of another owner can it be told to run as that one.
inline constexpr const char* step_idmap = "idmap";
inline constexpr const char* step_idmap_of_root = "idmap of root";

/// A detached copy of a host mount, ready to be attached inside.
struct Tree {
    UniqueFd mount; ///< none: an optional source that is not there
    bool directory = true;
};

/// Opens the source of every bind and clones it with its flags set: read-only or writable, nosuid,
/// nodev, private. As root this is done in the launcher, which may open what the session's user
/// may not, and alone may map ids; else in the child, which owns its mount namespace. Only of the
/// binds that are `late`, or of those that are not; the others' trees are empty. The spec is for
/// the ids.
[[nodiscard]] std::vector<Tree> clone_trees(const std::vector<Bind>& binds, const LaunchSpec& spec,
                                            bool late = false);

/// Of a mount that has its flags.
[[nodiscard]] Tree to_tree(UniqueFd mount);

/// The guest's program, opened through a read-only mount of its own: /proc/1/exe leads to that
/// mount, so nothing inside can write to the installed file, whoever owns it.
[[nodiscard]] UniqueFd open_program(const std::string& path);

/// A detached, read-only clone of what `source` refers to, to lie over something else. `failing`:
/// the step of a Failure.
[[nodiscard]] UniqueFd clone_cover(const char* failing, const UniqueFd& source);

/// A directory and what is below it, without anything above: `..` ends there.
[[nodiscard]] UniqueFd clone_directory(const std::string& path);

} // namespace berth::local
