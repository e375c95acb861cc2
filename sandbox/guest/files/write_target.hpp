#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/files/file_lock.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace berth::guest {

/// A file that is to be written, or the place where it will be. Everything is relative to a
/// directory that was opened first and judged then, so whatever is renamed or linked meanwhile,
/// what is written stays in it.
struct WriteTarget {
    UniqueFd directory;               ///< O_PATH: the deepest one on the way that exists
    std::string directory_path;       ///< where it really is
    std::vector<std::string> missing; ///< directories that make_parents() makes below it
    std::vector<std::pair<UniqueFd, std::string>> made; ///< by make_parents(): where, and the name
    std::string name;
    UniqueFd file;           ///< O_PATH; none: absent
    struct stat status = {}; ///< of file

    [[nodiscard]] bool exists() const noexcept { return file.valid(); }

    /// Where the file really is, or will be.
    [[nodiscard]] std::string path() const;
};

/// Follows symlinks to the file itself; for a dangling one, to where its target would be. Creates
/// nothing. Throws Error: invalid_path outside of what may be written, is_directory, not_a_file.
[[nodiscard]] WriteTarget find_write_target(std::string_view path, const CallContext& context);

/// Makes what is missing, one directory at a time below judged descriptors.
void make_parents(WriteTarget& target, const CallContext& context);

/// Takes away again what make_parents() made, as far as nobody has put something into it.
void unmake_parents(WriteTarget& target) noexcept;

/// Throws `error` again; one for a full disk with the room that there is now, or with the limit of
/// the home that it was.
[[noreturn]] void rethrow_with_room(const Error& error, const WriteTarget& target,
                                    const CallContext& context);

/// Makes the parents and calls `write`, whose result it returns. When either fails nothing of the
/// attempt stays, and an Error for a full disk says how much room is left after that.
template <class Write>
auto with_parents(WriteTarget& target, const CallContext& context, Write write)
{
    try {
        make_parents(target, context);
        return write();
    } catch (const Error& error) {
        unmake_parents(target);
        rethrow_with_room(error, target, context);
    } catch (...) {
        unmake_parents(target);
        throw;
    }
}

/// A target that no other call of this guest changes while this lives.
struct LockedTarget {
    FileLock by_path;
    FileLock by_inode; ///< a hard link is the same file under another path
    WriteTarget target;
};

/// Throws Error(permission_denied) for one that is protected, where that is to be refused.
[[nodiscard]] LockedTarget lock_write_target(std::string_view path, const CallContext& context);

/// Throws Error(permission_denied) for a file without a writable bit, immutable, or on a read-only
/// file system: to put a new file in its place would succeed and go round the protection.
void require_replaceable(const WriteTarget& target);

/// Opens the existing file for reading. Throws Error.
[[nodiscard]] UniqueFd open_for_reading(const WriteTarget& target);

/// Throws Error(unsupported) when `fd`, the open file, is UTF-16 or UTF-32 by its byte order mark:
/// what is put into it as UTF-8 would make it unreadable. Its offset stays where it is.
void require_narrow(int fd, const WriteTarget& target);

/// Throws Error(conflict) with the present hash, unless `if_sha256` is empty, that hash, or its
/// first 12 or more digits; Error(invalid_argument) when it is no hash at all.
void require_hash(const WriteTarget& target, const std::string& if_sha256,
                  const CallContext& context);

} // namespace berth::guest
