#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

/// Reads until `size` bytes or end of file; EINTR is retried. Returns what was read.
/// Throws std::system_error.
std::size_t read_full(int fd, void* data, std::size_t size);

/// Writes all of it; EINTR is retried, a full non-blocking descriptor is waited for.
/// Throws std::system_error.
void write_full(int fd, std::string_view data);

/// The whole of a small file, refused with std::length_error above `limit` bytes. Takes memory by
/// the file, not by the limit.
[[nodiscard]] std::string read_file_limited(int dirfd, const std::string& path, std::size_t limit);

/// Writes a new file and renames it over `path`, mode as given: a reader sees the old or the new
/// content, never a part. `sync` also flushes file and directory to the disk.
void write_file_atomically(int dirfd, const std::string& path, std::string_view content,
                           unsigned mode, bool sync);

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

/// pipe2(2) with O_CLOEXEC and `flags`.
[[nodiscard]] Pipe make_pipe(int flags = 0);

} // namespace berth
