#include "sandbox/guest/files/stream.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/statvfs.h>
#include <unistd.h>

namespace berth::guest {

void throw_if_stopped(const CallContext& context)
{
    if (context.stop.stop_requested()) {
        throw Error(ErrorCode::cancelled, "the call was cancelled",
                    "call again if it is still wanted");
    }
}

PieceReader::PieceReader(int fd, std::uint64_t offset, std::uint64_t size, std::string path,
                         const CallContext& context)
    : fd_(fd), offset_(offset), left_(size), path_(std::move(path)), context_(context),
      capacity_(static_cast<std::size_t>(std::clamp<std::uint64_t>(size, 1, stream_piece))),
      // Not cleared: a read of a small file must not pay for 256 KiB of zeros.
      buffer_(std::make_unique_for_overwrite<char[]>(capacity_))
{
}

std::string_view PieceReader::next()
{
    throw_if_stopped(context_);
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(capacity_, left_));
    while (wanted > 0) {
        const ssize_t got = ::pread(fd_, buffer_.get(), wanted, static_cast<off_t>(offset_));
        if (got >= 0) {
            offset_ += static_cast<std::uint64_t>(got);
            left_ = got == 0 ? 0 : left_ - static_cast<std::uint64_t>(got);
            return {buffer_.get(), static_cast<std::size_t>(got)};
        }
        if (errno == EAGAIN) {
            return {}; // a file of /proc that would block: what is there now is all
        }
        if (errno != EINTR) {
            throw errno_error(errno, "read " + visible(path_));
        }
    }
    return {};
}

std::string hash_file(int fd, std::uint64_t size, const std::string& path,
                      const CallContext& context)
{
    Sha256 hash;
    PieceReader reader(fd, 0, size, path, context);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        hash.update(piece);
    }
    return hash.finish();
}

void write_piece(int fd, std::string_view data, const std::string& path)
{
    try {
        write_full(fd, data);
    } catch (const std::system_error& error) {
        throw_write_error(error.code().value(), fd, "write " + visible(path));
    }
}

void throw_no_room(ErrorCode code, const std::string& what, int fd)
{
    struct statvfs room = {};
    if (::fstatvfs(fd, &room) != 0) {
        throw Error(code, what, "delete something, or write less");
    }
    const auto left = room.f_bavail * room.f_frsize;
    // A file system that counts no inodes has no total either; one that makes them of free blocks
    // has none left when it is full.
    const bool inodes = room.f_files > 0 && room.f_favail == 0 && left > 0;
    const std::string bytes = std::to_string(left);
    throw Error(
        Error(code, what,
              inodes ? "no inode is left there, and each file takes one, however small: delete "
                       "files, or write fewer"
                     : bytes + " bytes are left there; delete something, or write less")
            .with_detail("available_bytes", bytes));
}

void throw_write_error(int error, int fd, const std::string& what)
{
    if (error == ENOSPC || error == EDQUOT) {
        const Error full = errno_error(error, what);
        throw_no_room(full.code(), full.what(), fd);
    }
    if (error == EACCES || error == EPERM) {
        throw errno_error(error, what, "look at mode and owner with ls -ld in bash_exec");
    }
    if (error == EROFS) {
        throw errno_error(error, what, "write under the home directory or /tmp instead");
    }
    throw errno_error(error, what);
}

} // namespace berth::guest
