#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <functional>
#include <string>

namespace berth::session {

/// Whether `name` in the folder is the very file that `fd` is open on, not a later one.
[[nodiscard]] bool is_named(int folder, const std::string& name, int fd) noexcept;

/// An exclusive flock(2) on the file `name`. The kernel frees it when the last descriptor goes, so
/// a server that is killed frees it at once; close-on-exec keeps it from the server's children.
/// `open_folder` gives the folder, made anew where another has deleted it. Waits, by polling (there
/// is no flock with a timeout), until the deadline; then the result is invalid.
/// Throws berth::Error.
[[nodiscard]] UniqueFd lock_file(const std::function<UniqueFd()>& open_folder,
                                 const std::string& name, const Deadline& deadline);

} // namespace berth::session
