#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/call_context.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <sys/stat.h>

namespace berth::guest {

/// The path as the caller wrote it, made absolute: `~` and `~/x` are the home, anything that does
/// not begin with '/' starts at the session's working directory. Not resolved: that is the
/// kernel's. Throws Error(invalid_path) for an empty path, a NUL byte, or more than 4095 bytes.
[[nodiscard]] std::string absolute_path(std::string_view path, const CallContext& context);

/// Where an open descriptor really is. Throws Error(not_found) when it was deleted.
[[nodiscard]] std::string path_of(int fd);

/// As path_of(); nothing when the file has no name any more. It may have been replaced by a rename
/// since it was opened: then its successor is what the caller asked for, so open the name again, up
/// to `open_attempts` times. Many, since a busy writer can win more often than not; a file that was
/// really deleted ends this at the next open.
[[nodiscard]] std::optional<std::string> place_of(int fd);
constexpr int open_attempts = 1000;

/// Whether `path`, from path_of(), is the /proc directory of the guest or of one of its threads, or
/// in it. The guest reads with its own identity: its environ or mem would show commands what the
/// kernel hides from them.
[[nodiscard]] bool is_own_process(std::string_view path);

/// A name that opens the very inode of `fd` again, e.g. a location (O_PATH) for reading.
[[nodiscard]] std::string descriptor_path(int fd);

/// Throws Error(invalid_path) when `real`, which must come from path_of(), is outside of what
/// reading (writing) tools may touch; permission_denied for the guest's own /proc directories. The
/// string of the request is never judged: only where its descriptor really is (a symlink could lead
/// anywhere). `wanted`: what is asked for at `real` or below it, which the error names; empty: that
/// itself.
void require_readable(const std::string& real, const CallContext& context,
                      const std::string& wanted = {});
/// permission_denied also where the user has mounted something read-only.
void require_writable(const std::string& real, const CallContext& context,
                      const std::string& wanted = {});

/// The Error for what nobody in the sandbox can write.
[[noreturn]] void throw_read_only_mount(const std::string& path);

/// openat2 relative to `dirfd` that never takes a magic link: /proc/self/fd/N would hand the
/// guest's own descriptors (its configuration, its cgroups) to the caller. Returns -1 with errno.
[[nodiscard]] int open_without_magic(int dirfd, const std::string& path, int flags) noexcept;

/// A file or directory as open_readable() found it.
struct Opened {
    UniqueFd fd;
    std::string path; ///< where it really is
    struct stat status = {};
};

/// Opens what is there for reading: never blocks on a FIFO, never takes a controlling terminal.
/// Judged with require_readable() before it is opened. A missing path gets a hint that names the
/// nearest entry; what is neither a regular file nor a directory is Error(not_a_file).
[[nodiscard]] Opened open_existing(std::string_view path, const CallContext& context,
                                   int extra_flags = 0);
[[nodiscard]] UniqueFd open_readable(std::string_view path, const CallContext& context,
                                     int extra_flags = 0);

/// For messages: "a file", "a directory", "a named pipe" ...
[[nodiscard]] std::string type_in_words(const struct stat& status);

/// Throws Error(not_a_file) for a FIFO, socket or device; `path` is for the message.
void require_file_or_directory(const struct stat& status, const std::string& path);

} // namespace berth::guest
