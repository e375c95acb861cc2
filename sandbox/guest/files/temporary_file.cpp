#include "sandbox/guest/files/temporary_file.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/owner.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/paths.hpp"

#include <climits>

#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr std::string_view prefix = ".berth-";
constexpr std::string_view suffix = ".tmp";
constexpr std::size_t digits = 16;

std::string name_of(std::string_view number)
{
    const std::string check = sha256_hex("berth temporary file " + std::string(number));
    return std::string(prefix) + std::string(number) + "-" + check.substr(0, digits) +
           std::string(suffix);
}

bool is_temporary_name(std::string_view name)
{
    return name.size() == prefix.size() + 2 * digits + 1 + suffix.size() &&
           name.starts_with(prefix) && name == name_of(name.substr(prefix.size(), digits));
}

/// False: somebody else holds it. A file system without locks is as if it were held by nobody; then
/// whoever looks for leftovers gets none either.
bool lock(int file) noexcept
{
    return ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/// Whether this process has not looked into the directory yet.
bool is_first_look(int directory)
{
    // With the time of its birth: the inode's number of a removed directory is soon another one's.
    using Identity =
        std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::int64_t, std::uint32_t>;
    constexpr std::size_t remembered = 4096;
    static std::mutex mutex;
    static std::set<Identity> seen; // guarded by mutex
    struct statx status = {};
    if (::statx(directory, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) {
        return false;
    }
    const std::lock_guard guard(mutex);
    if (seen.size() >= remembered) {
        seen.clear();
    }
    return seen
        .emplace(status.stx_dev_major, status.stx_dev_minor, status.stx_ino,
                 status.stx_btime.tv_sec, status.stx_btime.tv_nsec)
        .second;
}

void remove_if_left(int directory, const char* name) noexcept
{
    // For writing: NFS makes flock a lock of fcntl, which is exclusive on such a descriptor only. A
    // file that had its last mode by then may not be writable; elsewhere it can be locked all the
    // same.
    constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    UniqueFd file(::openat(directory, name, O_RDWR | flags));
    if (!file) {
        file.reset(::openat(directory, name, O_RDONLY | flags));
    }
    struct stat status = {};
    if (file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
        ::unlinkat(directory, name, 0);
    }
}

} // namespace

std::string temporary_name()
{
    return name_of(random_hex(digits / 2));
}

TemporaryFile::TemporaryFile(int directory, const std::string& directory_path, unsigned mode)
    : directory_(directory)
{
    // Without a name nothing of it stays behind, however this process ends.
    fd_.reset(::openat(directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode));
    if (fd_) {
        return;
    }
    // Not every file system can do that; where another reason was the true one it comes again.
    while (!create(directory_path, mode)) {
    }
}

/// False: to be tried again.
bool TemporaryFile::create(const std::string& directory_path, unsigned mode)
{
    const std::string name = temporary_name();
    const int fd = ::openat(directory_, name.c_str(),
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0) {
        const int error = errno;
        if (error == EEXIST) {
            return false;
        }
        if (error == EACCES) {
            throw folder_not_writable(directory_, directory_path,
                                      "no file in it can be made or replaced");
        }
        throw_write_error(error, directory_, "create a file in " + visible(directory_path));
    }
    fd_.reset(fd);
    // Before the lock was held another guest could take it for a leftover.
    struct stat status = {};
    if (!lock(fd_.get()) || ::fstat(fd_.get(), &status) != 0 || status.st_nlink == 0) {
        ::unlinkat(directory_, name.c_str(), 0);
        return false;
    }
    name_ = name;
    return true;
}

TemporaryFile::~TemporaryFile()
{
    if (!name_.empty()) {
        ::unlinkat(directory_, name_.c_str(), 0);
    }
}

int TemporaryFile::link_to(const std::string& name) const
{
    return ::linkat(AT_FDCWD, descriptor_path(fd_.get()).c_str(), directory_, name.c_str(),
                    AT_SYMLINK_FOLLOW) == 0
               ? 0
               : errno;
}

int TemporaryFile::rename_to(const std::string& name, bool exclusive)
{
    const int error = move_to(name, exclusive);
    if (error == 0 && name_.empty()) {
        ::flock(fd_.get(), LOCK_UN);
    }
    return error;
}

int TemporaryFile::move_to(const std::string& name, bool exclusive)
{
    if (name_.empty()) {
        if (exclusive) {
            return link_to(name);
        }
        // A link replaces nothing: for the time of two calls it has a name of its own, and a lock
        // that says that it is no leftover. Nobody else has the file yet, so nobody has the lock.
        static_cast<void>(lock(fd_.get()));
        std::string own;
        int error = EEXIST;
        while (error == EEXIST) {
            own = temporary_name();
            error = link_to(own);
        }
        if (error != 0) {
            return error;
        }
        name_ = std::move(own);
    }
    int result = ::renameat2(directory_, name_.c_str(), directory_, name.c_str(),
                             exclusive ? RENAME_NOREPLACE : 0U);
    if (result != 0 && exclusive && errno == EINVAL) {
        // A file system that does not know the flag: a link never replaces anything either.
        result = ::linkat(directory_, name_.c_str(), directory_, name.c_str(), 0);
        if (result == 0) {
            return 0; // the destructor removes the other name
        }
    }
    if (result != 0) {
        return errno;
    }
    name_.clear();
    return 0;
}

int TemporaryFile::expose(const std::string& name)
{
    return show_as(("berth-backup-" + random_hex(digits / 2) + "-" + name).substr(0, NAME_MAX));
}

int TemporaryFile::show_as(const std::string& name)
{
    const int error = move_to(name, true);
    if (error == 0) {
        if (!name_.empty()) {
            ::unlinkat(directory_, name_.c_str(), 0);
        }
        name_ = name;
    }
    return error;
}

std::string TemporaryFile::keep()
{
    return std::exchange(name_, {});
}

void remove_leftovers(int directory) noexcept
{
    constexpr int max_entries = 10'000;
    try {
        if (!is_first_look(directory)) {
            return;
        }
        const auto stream = open_stream(directory);
        for (int i = 0; stream && i < max_entries; ++i) {
            const dirent* entry = ::readdir(stream.get());
            if (entry == nullptr) {
                return;
            }
            if (is_temporary_name(entry->d_name)) {
                remove_if_left(::dirfd(stream.get()), entry->d_name);
            }
        }
    } catch (const std::exception&) {
        return; // no memory: what is left there stays, the write has to say what is wrong
    }
}

} // namespace berth::guest
