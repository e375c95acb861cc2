#include "sandbox/workspace/area.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/file_lock.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/workspace/journal.hpp"
#include "sandbox/workspace/store_error.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::workspace {
namespace {

void lock(int fd, int operation, std::chrono::milliseconds patience)
{
    bool locked = false;
    try {
        locked = flock_until(fd, operation, Deadline::after(patience));
    } catch (const std::system_error& error) {
        throw store_error(error.code().value(), "lock the workspace");
    }
    if (!locked) {
        throw Error(ErrorCode::busy, "the workspace is in use by a call that does not end",
                    "try again");
    }
}

/// Whoever else may write there could put a folder of their own in a principal's place: they would
/// have what agents save, and agents would load what they put there.
void judge(int top, const std::string& root)
{
    struct stat status{};
    if (::fstat(top, &status) != 0) {
        throw store_error(errno, "look at the workspace in " + root);
    }
    if (status.st_uid != ::geteuid()) {
        throw Error(ErrorCode::permission_denied,
                    "the workspace's directory " + root + " belongs to another user, uid " +
                        std::to_string(status.st_uid),
                    "The operator gives --workspace (BERTH_WORKSPACE) a folder of the server's "
                    "own user.");
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        throw Error(ErrorCode::permission_denied,
                    "the workspace's directory " + root + " may be written to by other users",
                    "The operator runs `chmod go-w '" + root +
                        "'`, or, where others need it so, gives --workspace (BERTH_WORKSPACE) a "
                        "folder of its own.");
    }
}

} // namespace

Area make_area(const std::string& root, const std::string& principal)
{
    const UniqueFd top = open_or_make_directory(root);
    judge(top.get(), root);
    Area area;
    area.own = open_or_make_subdirectory(top.get(), sha256_hex(principal));
    if (area.own) {
        area.files = open_or_make_subdirectory(area.own.get(), "files");
        area.temporary = open_or_make_subdirectory(area.own.get(), "tmp");
    }
    if (!area.files || !area.temporary) {
        throw store_error(errno, "open the workspace in " + root);
    }
    return area;
}

UniqueFd open_top(const std::string& root)
{
    UniqueFd top(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (top) {
        judge(top.get(), root);
    } else if (errno == ENOTDIR) {
        (void)open_or_make_directory(root); // throws what says which part of it is a file
    } else if (errno != ENOENT) {
        throw store_error(errno, "open the workspace in " + root);
    }
    return top;
}

Area open_area_in(const UniqueFd& top, const std::string& root, const std::string& folder)
{
    Area area;
    area.own = open_folder(top.get(), folder);
    if (area.own) {
        area.files = open_folder(area.own.get(), "files");
    }
    if (area.files) {
        area.temporary = open_folder(area.own.get(), "tmp");
    }
    if (!area.temporary) {
        if (errno != ENOENT) {
            throw store_error(errno, "open the workspace in " + root);
        }
        return {};
    }
    return area;
}

Area open_area(const std::string& root, const std::string& principal)
{
    const UniqueFd top = open_top(root);
    return top ? open_area_in(top, root, sha256_hex(principal)) : Area();
}

UniqueFd open_folder(int directory, const std::string& name) noexcept
{
    return open_subdirectory(directory, name.c_str());
}

AreaLock::AreaLock(const Area& area, Mode mode, std::chrono::milliseconds patience)
{
    // Of its own: threads that share an open file would share its lock.
    fd_ = open_folder(area.own.get(), ".");
    if (!fd_) {
        throw store_error(errno, "lock the workspace");
    }
    const int wanted = mode == Mode::shared ? LOCK_SH : LOCK_EX;
    lock(fd_.get(), wanted, patience);
    while (is_publication_open(area)) {
        lock(fd_.get(), LOCK_EX, patience);
        undo_publication(area);
        lock(fd_.get(), wanted, patience); // in between another one may have died
    }
}

} // namespace berth::workspace
