#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <string>
#include <vector>

namespace berth {

/// Opens the directory, made 0700 with its parents when missing. Throws berth::Error that names
/// the path.
[[nodiscard]] UniqueFd open_or_make_directory(const std::string& path);

/// Opens the sub-directory `name` of `dirfd`, made 0700 when missing; `made` (if given) tells
/// whether it was. Never follows a symlink. The descriptor is invalid and errno set when that
/// fails.
[[nodiscard]] UniqueFd open_or_make_subdirectory(int dirfd, const std::string& name,
                                                 bool* made = nullptr) noexcept;

/// The names in an open directory, without "." and "..", in no order. Throws std::system_error.
[[nodiscard]] std::vector<std::string> directory_names(int dirfd);

} // namespace berth
