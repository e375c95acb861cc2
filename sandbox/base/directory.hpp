#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <memory>
#include <string>
#include <vector>

#include <dirent.h>

namespace berth {

/// Opens the directory, made 0700 with its parents when missing. Throws berth::Error that names
/// the path.
[[nodiscard]] UniqueFd open_or_make_directory(const std::string& path);

/// Opens the sub-directory `name` of `dirfd`, made 0700 when missing; `made` (if given) tells
/// whether it was. Never follows a symlink. The descriptor is invalid and errno set when that
/// fails.
[[nodiscard]] UniqueFd open_or_make_subdirectory(int dirfd, const std::string& name,
                                                 bool* made = nullptr) noexcept;

/// Opens the sub-directory `name` of `dirfd` for reading. Never follows a symlink, which who may
/// swap the name would lead elsewhere. The descriptor is invalid and errno set when that fails.
[[nodiscard]] UniqueFd open_subdirectory(int dirfd, const char* name) noexcept;

/// Of a folder that is not to be had: what of its path is there and is none, in words ("/a is a
/// file"); empty where that is not why. Leaves errno as it is.
[[nodiscard]] std::string obstacle_on(const std::string& path);

/// Tells the file system that what is in the sub-directories of this one belongs together, and what
/// is in two of them does not (chattr(1), attribute T): ext4 then puts each into a group of inodes
/// of its own. In one group alone, the more was removed there of late the longer it seeks a free
/// inode (`recently_deleted` in fs/ext4/ialloc.c): 0.3 ms where it was a thousand in a minute.
/// Others take no notice, and no error is one.
void spread_subdirectories(int dirfd) noexcept;

using DirectoryStream = std::unique_ptr<DIR, int (*)(DIR*)>;

/// The entries of an open directory from where it stands, which closes it. Null, with errno set,
/// where it cannot be had: the directory is closed then too (fdopendir(3) would leave it open).
[[nodiscard]] DirectoryStream stream_of(UniqueFd directory) noexcept;

/// The entries of an open directory from the first on, whose own position stays as it is. Null,
/// with errno set, where it cannot be had.
[[nodiscard]] DirectoryStream open_stream(int dirfd) noexcept;

/// The names in an open directory, without "." and "..", in no order. Throws std::system_error.
[[nodiscard]] std::vector<std::string> directory_names(int dirfd);

} // namespace berth
