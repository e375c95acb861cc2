#include "sandbox/guest/files/replacement.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/overwrite.hpp"
#include "sandbox/guest/files/replaced_files.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/paths.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr const char* acl_attribute = "system.posix_acl_access";

bool same_time(const timespec& a, const timespec& b) noexcept
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Names of the extended attributes that a copy of the file should have.
std::vector<std::string> kept_attributes(const std::string& file)
{
    std::vector<std::string> kept;
    const ssize_t room = ::listxattr(file.c_str(), nullptr, 0);
    std::string names(static_cast<std::size_t>(room > 0 ? room : 0), '\0');
    const ssize_t size = ::listxattr(file.c_str(), names.data(), names.size());
    names.resize(static_cast<std::size_t>(size > 0 ? size : 0));
    for (std::size_t at = 0; at < names.size();) {
        std::string name = names.c_str() + at;
        at += name.size() + 1;
        if (name.starts_with("user.") || name == acl_attribute) {
            kept.push_back(std::move(name));
        }
    }
    return kept;
}

} // namespace

Replacement::Replacement(const WriteTarget& target, Options options, const CallContext& context)
    : target_(target), options_(options), stop_(context.stop),
      share_(options.restores ? nullptr : context.quota, target.path()),
      // Private until it is whole; a file that is new gets its mode from the kernel, umask applied.
      temporary_(share_.watch([&] {
          return TemporaryFile(target.directory.get(), target.directory_path,
                               target.exists() || options.mode ? 0600 : 0644);
      }))
{
    remove_leftovers(target.directory.get());
}

/// Of the disk's room, what the old content has. That of a file with several names is not given
/// back, but is written over.
std::uint64_t Replacement::goes() const noexcept
{
    constexpr std::uint64_t block = 512;
    return target_.exists() ? static_cast<std::uint64_t>(target_.status.st_blocks) * block : 0;
}

void Replacement::write(std::string_view piece)
{
    const std::uint64_t size = size_ + piece.size();
    share_.grow_to(size, stop_, goes());
    share_.watch([&] { write_piece(temporary_.fd(), piece, target_.path()); });
    hash_.update(piece);
    size_ += piece.size();
}

void Replacement::require_unchanged() const
{
    struct stat now = {};
    const auto& before = target_.status;
    if (::fstatat(target_.directory.get(), target_.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        now.st_ino != before.st_ino || now.st_dev != before.st_dev ||
        now.st_size != before.st_size || !same_time(now.st_mtim, before.st_mtim) ||
        !same_time(now.st_ctim, before.st_ctim)) {
        throw Error(ErrorCode::conflict,
                    visible(target_.path()) + " was changed by a command at the same time",
                    "read it again, then repeat the change");
    }
}

bool Replacement::take_owner(const WriteTarget& old) const
{
    struct stat own = {};
    const auto& status = old.status;
    return ::fstat(temporary_.fd(), &own) == 0 &&
           ((own.st_uid == status.st_uid && own.st_gid == status.st_gid) ||
            ::fchown(temporary_.fd(), status.st_uid, status.st_gid) == 0);
}

/// False where its ACL names somebody whom this sandbox does not know: nobody here can set it.
bool Replacement::take_attributes(const WriteTarget& old) const
{
    const std::string path = descriptor_path(old.file.get());
    // Else the folder's default one would let in whom the file did not.
    static_cast<void>(::fremovexattr(temporary_.fd(), acl_attribute));
    for (const auto& name : kept_attributes(path)) {
        std::array<char, 64UL * 1024> value; // the kernel's limit for one
        const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
        if (size < 0 || ::fsetxattr(temporary_.fd(), name.c_str(), value.data(),
                                    static_cast<std::size_t>(size), 0) == 0) {
            continue;
        }
        if (name == acl_attribute && errno == EINVAL) {
            return false;
        }
        throw_write_error(errno, temporary_.fd(),
                          "keep the attribute " + name + " of " + visible(old.path()));
    }
    return true;
}

/// What cannot be kept is no reason to leave a file where it is. The rights that a file with an ACL
/// shows for its group are those of all whom that names: without it nobody has them.
unsigned Replacement::take_what_can_be(const WriteTarget& moved) const
{
    constexpr unsigned all = 0777;
    constexpr unsigned not_of_group = 0707;
    static_cast<void>(take_owner(moved));
    try {
        return take_attributes(moved) ? all : not_of_group;
    } catch (const Error&) {
        const auto path = descriptor_path(moved.file.get());
        return ::getxattr(path.c_str(), acl_attribute, nullptr, 0) < 0 ? all : not_of_group;
    }
}

void Replacement::write_in_place(const CallContext& context)
{
    const std::string path = target_.path();
    const UniqueFd file(::open(descriptor_path(target_.file.get()).c_str(), O_RDWR | O_CLOEXEC));
    if (!file) {
        throw_write_error(errno, target_.directory.get(), "write " + visible(path));
    }
    struct stat now = {};
    if (::fstat(file.get(), &now) != 0) {
        throw errno_error(errno, "look at " + visible(path));
    }
    const auto old_size = static_cast<std::uint64_t>(now.st_size);
    TemporaryFile backup(target_.directory.get(), target_.directory_path, 0600);
    copy_content(file.get(), backup.fd(), old_size, path, context);
    // Of a sparse file the holes too: its own room is no promise that it can be written.
    if (size_ > 0 &&
        ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size_)) != 0 &&
        errno != EOPNOTSUPP) {
        throw_write_error(errno, file.get(), "write " + visible(path));
    }
    // First, since what cannot have its mode must not have its content changed either.
    const bool changed = take_mode(file.get(), now);
    try {
        overwrite(file.get(), {temporary_.fd(), size_}, {backup, old_size}, target_, context);
    } catch (...) {
        if (changed) {
            static_cast<void>(::fchmod(file.get(), now.st_mode & 0777U));
        }
        throw;
    }
}

/// Of a file that is written in place. Somebody else's stays as it is: it is not ours to change.
bool Replacement::take_mode(int file, const struct stat& now) const
{
    if (!options_.mode || (now.st_mode & 0777U) == (*options_.mode & 0777U)) {
        return false;
    }
    if (::fchmod(file, *options_.mode & 0777U) == 0) {
        return true;
    }
    if (errno != EPERM || now.st_uid == ::geteuid()) {
        throw_write_error(errno, file, "set the mode of " + visible(target_.path()));
    }
    return false;
}

std::string Replacement::commit(const CallContext& context)
{
    auto hash = share_.watch([&] { return put(context); });
    const std::uint64_t gone = goes();
    share_.keep(gone - std::min(gone, size_));
    return hash;
}

std::string Replacement::put(const CallContext& context)
{
    throw_if_stopped(context);
    unsigned rights = 0777;
    if (target_.exists()) {
        if (options_.only_unchanged) {
            require_unchanged();
        }
        if (target_.status.st_nlink > 1 || !take_owner(target_) || !take_attributes(target_)) {
            write_in_place(context);
            return hash_.finish();
        }
    } else if (options_.moved != nullptr) {
        rights = take_what_can_be(*options_.moved);
    }
    // After the owner, since a change of it clears bits. A set-user-id bit does not survive a
    // change of content, as with write(2).
    if (target_.exists() || options_.mode) {
        const unsigned mode = options_.mode.value_or(target_.status.st_mode) & rights;
        if (::fchmod(temporary_.fd(), mode) != 0) {
            throw_write_error(errno, temporary_.fd(), "set the mode of " + visible(target_.path()));
        }
    }
    if (target_.exists()) {
        // So that a power loss leaves the old content or the new one. XFS puts the new name on the
        // disk long before what is in the file, and both would be gone. Begun, and not waited for.
        (void)::sync_file_range(temporary_.fd(), 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    const bool exclusive = options_.exclusive && !target_.exists();
    const int error = temporary_.rename_to(target_.name, exclusive);
    if (error == EEXIST) {
        throw Error(ErrorCode::conflict, visible(target_.path()) + " exists meanwhile",
                    "look at it first");
    }
    if (error == EBUSY && target_.exists()) { // a file that is a mount by itself
        write_in_place(context);
        return hash_.finish();
    }
    if (error != 0) {
        throw_write_error(error, target_.directory.get(), "replace " + visible(target_.path()));
    }
    if (context.replaced != nullptr && target_.exists()) {
        context.replaced->hold(target_.file.get(),
                               static_cast<std::uint64_t>(target_.status.st_size));
    }
    return hash_.finish();
}

} // namespace berth::guest
