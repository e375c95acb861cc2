#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/trees.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::local {

/// NAME=VALUE or NAME.
using MountOptions = std::vector<std::pair<std::string, std::string>>;

/// A new file system of `type` ("tmpfs", "devpts", "proc"), detached. Throws Failure.
[[nodiscard]] UniqueFd new_mount(const char* type, const MountOptions& options,
                                 unsigned attributes);

/// The sandbox's root while it is put together: a small tmpfs that the host does not see. Used in
/// the child, as the session's user, and in the launcher (guest_mounts.hpp). Every path is resolved
/// below the root and never through a symbolic link: the home is the session's, and an earlier
/// machine may have left links in it.
class Root {
  public:
    /// Mounts the tmpfs, or `prepared`, a detached one with something in it already. The sources of
    /// all binds must have been opened before.
    explicit Root(UniqueFd prepared = UniqueFd());

    /// One that is put together already, and is this process's own: nothing is mounted for it.
    [[nodiscard]] static Root entered(UniqueFd root) { return {std::move(root), Entered()}; }

    [[nodiscard]] int fd() const noexcept { return root_.get(); }

    /// mkdir -p; the descriptor is O_PATH.
    [[nodiscard]] UniqueFd make_directory(std::string_view path) const;

    /// Attaches `tree` at `target`, whose directories (or empty file) are made when missing.
    void attach(const Tree& tree, const std::string& target) const;

    /// Covers the folder or file `path`, which may be in a tree of the host, with an empty one.
    /// Nothing when it is not there, or out of reach for the session's user.
    void hide(const std::string& path) const;

    /// Everything of `parts`. `trees`: those of its binds.
    void add(const RootParts& parts, const std::vector<Tree>& trees) const;
    /// Of `trees` those that are there, each at the target of its bind. Throws a Failure of the
    /// step step_home or step_target (obstacle.hpp) when something is in the way of one.
    void attach_all(const std::vector<Tree>& trees, const std::vector<Bind>& binds) const;

    /// new_mount(), at `target`.
    void mount_new(const char* type, const std::string& target, const MountOptions& options,
                   unsigned attributes) const;

    /// Makes the root read-only (what is mounted in it stays as it is), enters it, and lets go of
    /// everything that was there before.
    void enter() const;

  private:
    struct Entered {};

    Root(UniqueFd root, Entered /*unused*/) : root_(std::move(root)) {}

    void write_file(const TextFile& file) const;
    void make_link(const SymbolicLink& link) const;
    /// The folder that `path` is in, made when missing. Valid until the next call.
    [[nodiscard]] int parent_of(std::string_view path) const;

    UniqueFd root_;
    mutable UniqueFd parent_; ///< the folder of the latest parent_of()
    mutable std::string parent_path_;
};

} // namespace berth::local
