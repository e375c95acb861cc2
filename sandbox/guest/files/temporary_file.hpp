#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <string>
#include <string_view>

namespace berth::guest {

/// A file of ours in a directory, gone with this object unless it was renamed or kept. It has no
/// name, so it is gone with the process too, but for two moments: between the link and the rename
/// of rename_to(), and where the file system knows no files without a name (NFS, FUSE, overlay
/// before Linux 6.3) as long as it lives. Then it has a temporary_name(), and a lock (flock) by
/// which remove_leftovers() knows that somebody still works on it.
class TemporaryFile {
  public:
    /// Throws Error. `directory` must outlive it.
    TemporaryFile(int directory, const std::string& directory_path, unsigned mode);
    ~TemporaryFile();
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    /// In the same directory, and the user's from then on; `exclusive`: never over something.
    /// Returns 0 or an errno.
    [[nodiscard]] int rename_to(const std::string& name, bool exclusive);

    /// Gives it a name, "berth-backup-<16 hex digits>-<`name`>", that remove_leftovers() does not
    /// know: it stays when this process is killed. Returns 0 or an errno.
    [[nodiscard]] int expose(const std::string& name);

    /// Gives it a name that remove_leftovers() does not know either, unless there is one (EEXIST).
    /// A lock of the file stays. Returns 0 or an errno.
    [[nodiscard]] int show_as(const std::string& name);

    /// Leaves it there under the name that expose() gave it, which is returned.
    [[nodiscard]] std::string keep();

  private:
    [[nodiscard]] int link_to(const std::string& name) const;
    [[nodiscard]] int move_to(const std::string& name, bool exclusive);
    [[nodiscard]] bool create(const std::string& directory_path, unsigned mode);

    int directory_;
    std::string name_; ///< empty: none
    UniqueFd fd_;
};

/// A new one, ".berth-<16 hex digits>-<16 hex digits>.tmp". The second number follows from the
/// first, so that nothing that a user has named is taken for a file of ours.
[[nodiscard]] std::string temporary_name();

/// Removes what a guest that was killed has left in the directory (any descriptor of it): files
/// with a temporary_name() that nobody holds the lock of. Looks once in this process's life, and at
/// no more than the first 10 000 entries, so that a write costs what it writes.
void remove_leftovers(int directory) noexcept;

} // namespace berth::guest
