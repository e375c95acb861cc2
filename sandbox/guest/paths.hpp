#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/call_context.hpp"

#include <string>
#include <string_view>

namespace berth::guest {

/// The path as the caller wrote it, made absolute: `~` and `~/x` are the home, anything that does
/// not begin with '/' starts at the session's working directory. Not resolved: that is the
/// kernel's. Throws Error(invalid_path) for an empty path, a NUL byte, or more than 4095 bytes.
[[nodiscard]] std::string absolute_path(std::string_view path, const CallContext& context);

/// Where an open descriptor really is. Throws Error(not_found) when it was deleted.
[[nodiscard]] std::string path_of(int fd);

/// Throws Error(invalid_path) when `real`, which must come from path_of(), is outside of what
/// reading (writing) tools may touch. The string of the request is never judged: only where its
/// descriptor really is (a symlink could lead anywhere).
void require_readable(const std::string& real, const CallContext& context);
void require_writable(const std::string& real, const CallContext& context);

/// Opens what is there for reading: never blocks on a FIFO, never takes a controlling terminal.
/// Judged with require_readable(). A missing path gets a hint that names the nearest entry.
[[nodiscard]] UniqueFd open_readable(std::string_view path, const CallContext& context,
                                     int extra_flags = 0);

} // namespace berth::guest
