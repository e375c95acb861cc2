#pragma once

#include "sandbox/base/error.hpp"

#include <string>

#include <sys/stat.h>

namespace berth::guest {

/// Error(permission_denied) for what the session's user may not write, as its `status` says: `what`
/// (a file or folder) and `rest` together are the message, `hint` is for what is the user's own. Of
/// another user's or group's the mode is not what is in the way: then that is said, and what is
/// left.
[[nodiscard]] Error not_writable(const struct stat& status, const std::string& what,
                                 const std::string& rest, std::string hint);

/// The same for the open folder `fd` at `path`, in which something `cannot` be done.
[[nodiscard]] Error folder_not_writable(int fd, const std::string& path, const std::string& cannot);

} // namespace berth::guest
