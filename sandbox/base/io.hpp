#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// Reads until `size` bytes or end of file; EINTR is retried. Returns what was read.
/// Throws std::system_error.
std::size_t read_full(int fd, void* data, std::size_t size);

/// Writes all of it; EINTR is retried, a full non-blocking descriptor is waited for.
/// Throws std::system_error.
void write_full(int fd, std::string_view data);

/// Its four bytes, as they are in memory: to a process of this host. As write_full().
void write_number(int fd, std::int32_t number);

/// The whole of a small file, refused with std::length_error above `limit` bytes. Takes memory by
/// the file, not by the limit. Throws std::system_error, also for a pipe, whose writer it does not
/// wait for.
[[nodiscard]] std::string read_file_limited(int dirfd, const std::string& path, std::size_t limit);

/// Writes a new file and renames it over `path`, mode as given: a reader sees the old or the new
/// content, never a part. `sync` also flushes file and directory to the disk.
void write_file_atomically(int dirfd, const std::string& path, std::string_view content,
                           unsigned mode, bool sync);

/// Whether a file of that name is what a write_file_atomically() that was killed has left of the
/// file `of`; where that is empty, of any file.
[[nodiscard]] bool is_unfinished(std::string_view name, std::string_view of = {});

/// Removes what such ones have left in the open directory of these files; where there are none, of
/// any file. `age`: only what was last written that long ago, since whoever writes just now has a
/// younger one. What cannot be removed stays. Throws std::system_error where the directory cannot
/// be read.
void remove_unfinished(int dirfd, const std::vector<std::string_view>& of = {},
                       std::chrono::seconds age = {});

/// Makes an eventfd readable. Any thread, and a signal handler.
void wake(int eventfd) noexcept;

/// Waits until there is something to be read, be it an end or an error, and of a pidfd until its
/// process has ended; false where the deadline comes first. EINTR is retried. Throws
/// std::system_error.
[[nodiscard]] bool wait_readable(int fd, const Deadline& deadline);

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

/// pipe2(2) with O_CLOEXEC and `flags`.
[[nodiscard]] Pipe make_pipe(int flags = 0);

} // namespace berth
