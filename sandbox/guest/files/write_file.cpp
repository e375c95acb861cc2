#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/append_note.hpp"
#include "sandbox/guest/files/content_lock.hpp"
#include "sandbox/guest/files/replacement.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/files/write_target.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/guest/quota/quota_share.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

using protocol::Encoding;
using protocol::WriteFileReply;
using protocol::WriteFileRequest;
using protocol::WriteMode;

/// The hash of a file that was just appended to, or none: a call must not cost what the whole of a
/// large log does, unless its caller works with hashes. The write is done by now, so whatever
/// keeps the hash from being made, a cancellation too, must not make it look undone.
std::string hash_of_whole(int fd, std::uint64_t size, const WriteTarget& target,
                          const WriteFileRequest& request, const CallContext& context)
{
    constexpr std::uint64_t cheap = 1024UL * 1024;
    if (size > (request.if_sha256.empty() ? cheap : max_hashed_size)) {
        return {};
    }
    try {
        return hash_file(fd, size, target.path(), context);
    } catch (const Error&) {
        return {};
    }
}

/// What was written at the end of a file so far.
struct Appended {
    off_t begin = 0;
    off_t end = 0;
    bool together = true; ///< no command has written between two parts of it
};

void append_piece(int file, std::string_view rest, const std::string& path, Appended& done)
{
    while (!rest.empty()) {
        const ssize_t size = ::write(file, rest.data(), rest.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0) {
            throw_write_error(errno, file, "write " + visible(path));
        }
        const off_t end = ::lseek(file, 0, SEEK_CUR); // where our last byte went
        if (done.end == 0) {
            done.begin = end - size;
        } else {
            done.together = done.together && end - size == done.end;
        }
        done.end = end;
        rest.remove_prefix(static_cast<std::size_t>(size));
    }
}

/// Unless a command has written behind it, or between its parts: that is not ours.
void take_back(int file, const Appended& done, const std::string& path)
{
    struct stat now = {};
    if (done.together && done.end > 0 && ::fstat(file, &now) == 0 && now.st_size == done.end &&
        ::ftruncate(file, done.begin) != 0) {
        throw_write_error(errno, file, "take back a part of " + visible(path));
    }
}

/// Nothing of it stays when it fails, as far as take_back() can.
void append_whole(int file, std::string_view content, const std::string& path)
{
    Appended done;
    try {
        append_piece(file, content, path, done);
    } catch (...) {
        take_back(file, done, path);
        throw;
    }
}

std::uint64_t size_of(int file, const std::string& path)
{
    struct stat status = {};
    if (::fstat(file, &status) != 0) {
        throw errno_error(errno, "look at " + visible(path));
    }
    return static_cast<std::uint64_t>(status.st_size);
}

/// With the lock, so that no call sees a part of it. Returns the file's size then.
std::uint64_t append_locked(int file, std::string_view content, const std::string& path,
                            const CallContext& context)
{
    const ContentLock lock(file, ContentLock::Kind::exclusive, context.stop);
    throw_if_stopped(context);
    AppendNote note(file, content, path, context);
    const std::uint64_t before = size_of(file, path);
    try {
        append_whole(file, content, path);
    } catch (const Error&) {
        // The note may have taken the room that there was.
        if (!note.remove() || size_of(file, path) != before) {
            throw;
        }
        append_whole(file, content, path);
    }
    return size_of(file, path);
}

/// In place, since to rewrite a large log for one line would be costly.
void append(const WriteTarget& target, const WriteFileRequest& request, const CallContext& context,
            WriteFileReply& reply)
{
    // Read too, for the hash.
    UniqueFd file(
        ::open(descriptor_path(target.file.get()).c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
    if (!file) {
        throw_write_error(errno, target.directory.get(), "write " + visible(target.path()));
    }
    if (request.encoding == Encoding::text) {
        require_narrow(file.get(), target);
    }
    QuotaShare share(context.quota, target.path());
    share.grow_to(request.content.size(), context.stop);
    reply.size = share.watch(
        [&] { return append_locked(file.get(), request.content, target.path(), context); });
    share.keep(0);
    reply.sha256 = hash_of_whole(file.get(), reply.size, target, request, context);
}

void replace(const WriteTarget& target, const WriteFileRequest& request, const CallContext& context,
             WriteFileReply& reply)
{
    // Who overwrites without a condition wants to win, over a log that grows just now, too.
    Replacement replacement(target,
                            {.mode = {},
                             .exclusive = request.mode != WriteMode::overwrite,
                             .only_unchanged = !request.if_sha256.empty()},
                            context);
    std::string_view rest = request.content;
    while (!rest.empty()) {
        throw_if_stopped(context);
        replacement.write(rest.substr(0, stream_piece));
        rest.remove_prefix(std::min(rest.size(), stream_piece));
    }
    reply.size = replacement.size();
    reply.sha256 = replacement.commit(context);
}

} // namespace

WriteFileReply write_file(const WriteFileRequest& request, const CallContext& context)
{
    LockedTarget locked = lock_write_target(request.path, context);
    WriteTarget& target = locked.target;
    require_hash(target, request.if_sha256, context);
    if (request.mode == WriteMode::create && target.exists()) {
        throw Error(Error(ErrorCode::conflict, visible(target.path()) + " exists already",
                          "change it with edit_file, or replace it with mode \"overwrite\"")
                        .set_retryable(false));
    }
    require_replaceable(target);
    WriteFileReply reply;
    reply.path = target.path();
    reply.bytes = request.content.size();
    reply.created = !target.exists();
    with_parents(target, context, [&] {
        if (request.mode == WriteMode::append && target.exists()) {
            append(target, request, context, reply);
        } else {
            replace(target, request, context, reply);
        }
    });
    return reply;
}

} // namespace berth::guest
