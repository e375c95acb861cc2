#include "sandbox/guest/files/kept_file.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/files/temporary_file.hpp"
#include "sandbox/guest/paths.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

bool has_same_content(const struct stat& a, const struct stat& b) noexcept
{
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
           a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

} // namespace

KeptFile::~KeptFile()
{
    if (!name_.empty()) {
        ::unlinkat(target_.directory.get(), name_.c_str(), 0);
    }
}

void KeptFile::throw_changed() const
{
    throw Error(ErrorCode::conflict,
                visible(target_.path()) + " was changed by a command at the same time",
                "read it again, then repeat the change");
}

bool KeptFile::link()
{
    const auto& status = target_.status;
    if (status.st_nlink != 1 || status.st_uid != ::geteuid() || status.st_gid != ::getegid()) {
        return false;
    }
    std::string name = temporary_name();
    if (::linkat(AT_FDCWD, descriptor_path(target_.file.get()).c_str(), target_.directory.get(),
                 name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
        return false; // a file that is a mount by itself, a file system without links
    }
    name_ = std::move(name);
    struct stat now = {};
    if (::fstat(target_.file.get(), &now) != 0 || !has_same_content(now, status)) {
        throw_changed();
    }
    // The new name is a change of the file, which is none to whoever compares it later.
    target_.status.st_ctim = now.st_ctim;
    return true;
}

void KeptFile::take_away()
{
    const int directory = target_.directory.get();
    const std::string name = temporary_name();
    int result =
        ::renameat2(directory, target_.name.c_str(), directory, name.c_str(), RENAME_NOREPLACE);
    if (result != 0 && errno == EINVAL) { // a file system that does not know the flag
        result = ::renameat(directory, target_.name.c_str(), directory, name.c_str());
    }
    if (result != 0 && errno == EBUSY) {
        throw Error(ErrorCode::unsupported,
                    visible(target_.path()) +
                        " is mounted by itself: it cannot be deleted or moved",
                    "Change what is in it, or copy it and leave it where it is.");
    }
    if (result != 0) {
        throw_write_error(errno, directory, "delete " + visible(target_.path()));
    }
    name_ = name;
    struct stat now = {};
    if (::fstatat(directory, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        !has_same_content(now, target_.status)) {
        put_back(false);
        throw_changed();
    }
}

void KeptFile::put_back(bool replace)
{
    const int directory = target_.directory.get();
    int result = ::renameat2(directory, name_.c_str(), directory, target_.name.c_str(),
                             replace ? 0U : RENAME_NOREPLACE);
    if (result != 0 && !replace && errno == EINVAL) {
        // Neither does a link replace anything; the other name goes with this object.
        result = ::linkat(directory, name_.c_str(), directory, target_.name.c_str(), 0);
        if (result == 0) {
            return;
        }
    }
    if (result != 0) {
        throw_write_error(errno, directory, "put back " + visible(target_.path()));
    }
    name_.clear();
}

} // namespace berth::guest
