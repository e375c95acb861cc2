#include "sandbox/guest/files/write_target.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/content_type.hpp"
#include "sandbox/guest/files/missing.hpp"
#include "sandbox/guest/files/owner.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/guest/protection/protected_writes.hpp"
#include "sandbox/guest/quota/home_quota.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr int max_links = 40; // as the kernel

struct Split {
    std::string parent;
    std::string name;
    bool names_directory = false; ///< by a trailing slash, "." or ".."
};

Split split(std::string path)
{
    Split parts;
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
        parts.names_directory = true;
    }
    const auto slash = path.rfind('/');
    parts.name = path.substr(slash + 1);
    parts.parent = slash == 0 ? "/" : path.substr(0, slash);
    parts.names_directory |= parts.name.empty() || parts.name == "." || parts.name == "..";
    return parts;
}

[[noreturn]] void refuse_directory(const std::string& path, const CallContext& context)
{
    // Judged first: what is out of bounds is out of bounds, whatever it is.
    const UniqueFd location(open_without_magic(AT_FDCWD, path, O_PATH));
    if (location) {
        const std::string real = path_of(location.get());
        require_writable(real, context);
        struct stat status = {};
        if (::fstat(location.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
            throw Error(ErrorCode::is_directory, visible(real) + " is a directory",
                        "name a file in it");
        }
    }
    throw Error(ErrorCode::invalid_path, visible(path) + " names a directory",
                "leave out the slash or dots at its end");
}

/// Opens the deepest directory on the way to `parent` that exists.
void open_parent(std::string parent, WriteTarget& target, const CallContext& context)
{
    const std::string whole = parent;
    while (true) {
        UniqueFd opened(open_without_magic(AT_FDCWD, parent, O_PATH | O_DIRECTORY));
        const int error = opened ? 0 : errno;
        if (opened) {
            target.directory = std::move(opened);
            break;
        }
        if (error != ENOENT || parent == "/") {
            throw_open_error(error, whole, context);
        }
        Split parts = split(std::move(parent));
        if (parts.name == "..") {
            throw Error(ErrorCode::invalid_path,
                        visible(whole) + " goes up (..) from a directory that does not exist",
                        "name the directory directly");
        }
        if (parts.name != "." && !parts.name.empty()) {
            target.missing.insert(target.missing.begin(), parts.name);
        }
        parent = std::move(parts.parent);
    }
    target.directory_path = path_of(target.directory.get());
    const auto too_long = [](const std::string& name) { return name.size() > NAME_MAX; };
    if (too_long(target.name) ||
        std::any_of(target.missing.begin(), target.missing.end(), too_long)) {
        throw_open_error(ENAMETOOLONG, whole + "/" + target.name, context);
    }
}

std::string read_link(int link, const WriteTarget& target)
{
    std::array<char, PATH_MAX> buffer;
    const ssize_t size = ::readlinkat(link, "", buffer.data(), buffer.size());
    if (size <= 0 || static_cast<std::size_t>(size) >= buffer.size()) {
        throw errno_error(ENAMETOOLONG, "follow " + visible(target.path()),
                          "name the file that the link leads to");
    }
    std::string destination(buffer.data(), static_cast<std::size_t>(size));
    if (!destination.starts_with('/')) {
        destination = target.directory_path + "/" + destination;
    }
    return destination;
}

/// Opens the name as it is; nothing when it does not exist.
void open_location(WriteTarget& target, const CallContext& context)
{
    const int fd =
        ::openat(target.directory.get(), target.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    const int error = fd < 0 ? errno : 0;
    if (error != 0 && error != ENOENT) {
        throw_open_error(error, target.path(), context);
    }
    target.file.reset(fd);
    target.status = {};
    if (target.file && ::fstat(fd, &target.status) != 0) {
        throw errno_error(errno, "look at " + visible(target.path()));
    }
}

/// Where a file is that is mounted by itself, beside which nothing may be made, no new content
/// either.
void require_writable_beside(const WriteTarget& target, const std::optional<std::string>& file,
                             const CallContext& context)
{
    const auto& roots = context.config.writable_roots;
    try {
        require_writable(target.directory_path, context, target.path());
    } catch (const Error&) {
        if (!file || std::find(roots.begin(), roots.end(), *file) == roots.end()) {
            throw;
        }
        throw Error(ErrorCode::unsupported,
                    visible(*file) + " is mounted by itself, and this tool may make no file in " +
                        visible(target.directory_path) + ", which it needs to change one whole",
                    "change it in bash_exec (cat NEW >" + visible(*file) +
                        "), or let the operator mount its folder, or the file below " +
                        context.config.home);
    }
}

/// Whether the name is a symlink, whose destination goes into `path`; else the target is judged.
bool follow_or_judge(WriteTarget& target, std::string& path, const CallContext& context)
{
    std::optional<std::string> real;
    // Again when another call's rename has just replaced it, which a busy writer does often.
    for (int i = 0; target.missing.empty() && !real && i < open_attempts; ++i) {
        open_location(target, context);
        if (!target.file) {
            break;
        }
        if (S_ISLNK(target.status.st_mode)) {
            path = read_link(target.file.get(), target);
            return true;
        }
        if (S_ISDIR(target.status.st_mode)) {
            refuse_directory(target.path(), context);
        }
        real = place_of(target.file.get());
    }
    if (target.file) {
        // Both: the file may be mounted from elsewhere, and what replaces it goes into the
        // directory. One without a name is never judged by its directory alone.
        require_writable(real ? *real : path_of(target.file.get()), context);
        require_file_or_directory(target.status, target.path());
    }
    require_writable_beside(target, real, context);
    return false;
}

/// The descriptor of a directory just made, or found there, without following a link.
UniqueFd enter(const WriteTarget& target, const std::string& name, bool& made,
               const CallContext& context)
{
    made = ::mkdirat(target.directory.get(), name.c_str(), 0755) == 0;
    if (!made && errno == EACCES) {
        throw folder_not_writable(target.directory.get(), target.directory_path,
                                  "the directory " + visible(name) + " cannot be made in it");
    }
    if (!made && errno != EEXIST) {
        throw_write_error(errno, target.directory.get(),
                          "make the directory " + visible(target.directory_path + "/" + name));
    }
    UniqueFd entered(::openat(target.directory.get(), name.c_str(),
                              O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!entered) {
        // Somebody put a link or a file there: to follow it could lead out of what was judged.
        throw_open_error(errno, target.directory_path + "/" + name, context);
    }
    return entered;
}

/// Whatever mode and owner say: nothing on it can be changed.
bool is_on_read_only_mount(const UniqueFd& place)
{
    struct statvfs mount = {};
    return ::fstatvfs(place.get(), &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0;
}

} // namespace

std::string WriteTarget::path() const
{
    std::string result = directory_path == "/" ? "" : directory_path;
    for (const auto& component : missing) {
        result += "/" + component;
    }
    return result + "/" + name;
}

WriteTarget find_write_target(std::string_view path, const CallContext& context)
{
    std::string present = absolute_path(path, context);
    for (int links = 0; links <= max_links; ++links) {
        Split parts = split(present);
        if (parts.names_directory) {
            refuse_directory(present, context);
        }
        WriteTarget target;
        target.name = std::move(parts.name);
        open_parent(std::move(parts.parent), target, context);
        if (!follow_or_judge(target, present, context)) {
            return target;
        }
    }
    throw_open_error(ELOOP, present, context);
}

void make_parents(WriteTarget& target, const CallContext& context)
{
    for (const auto& name : std::exchange(target.missing, {})) {
        bool made = false;
        UniqueFd next = enter(target, name, made, context);
        if (made) {
            target.made.emplace_back(std::move(target.directory), name);
        }
        target.directory = std::move(next);
        target.directory_path = path_of(target.directory.get());
        require_writable(target.directory_path, context);
    }
}

void unmake_parents(WriteTarget& target) noexcept
{
    while (!target.made.empty() &&
           ::unlinkat(target.made.back().first.get(), target.made.back().second.c_str(),
                      AT_REMOVEDIR) == 0) {
        target.made.pop_back();
    }
}

void rethrow_with_room(const Error& failure, const WriteTarget& target, const CallContext& context)
{
    const bool limited = context.quota != nullptr && context.quota->covers(target.path());
    const Error error = limited ? context.quota->explain(failure) : failure;
    const bool full =
        error.code() == ErrorCode::no_space || error.code() == ErrorCode::quota_exceeded;
    // One that names a backup has a more urgent hint; that of session.quota names its own room.
    if (full && !error.details().contains("backup") && !error.details().contains("limit_bytes")) {
        throw_no_room(error.code(), error.what(), target.directory.get());
    }
    throw Error(error);
}

LockedTarget lock_write_target(std::string_view path, const CallContext& context)
{
    constexpr int attempts = 100;
    for (int i = 0; i < attempts; ++i) {
        const WriteTarget seen = find_write_target(path, context);
        LockedTarget locked;
        locked.by_path = FileLock(seen.path(), context);
        if (seen.exists()) {
            locked.by_inode = FileLock("inode " + std::to_string(seen.status.st_dev) + ":" +
                                           std::to_string(seen.status.st_ino),
                                       context);
        }
        // Whoever held the locks before may have put another file there.
        locked.target = find_write_target(path, context);
        if (locked.target.path() == seen.path() && locked.target.exists() == seen.exists() &&
            locked.target.status.st_ino == seen.status.st_ino &&
            locked.target.status.st_dev == seen.status.st_dev) {
            if (context.protected_writes != nullptr) {
                context.protected_writes->judge(locked.target.path(), locked.target.exists());
            }
            return locked;
        }
    }
    throw Error(ErrorCode::conflict, visible(path) + " is being replaced again and again",
                "wait until the program that does so has ended");
}

void require_replaceable(const WriteTarget& target)
{
    if (!target.exists()) {
        if (is_on_read_only_mount(target.directory)) {
            throw_read_only_mount(target.path());
        }
        return;
    }
    const bool may = ::faccessat(target.directory.get(), target.name.c_str(), W_OK,
                                 AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
    if ((!may && errno == EROFS) || is_on_read_only_mount(target.file)) {
        throw_read_only_mount(target.path());
    }
    // Without any w bit the owner wanted it kept, even from a superuser, who may always write.
    if (!may || (target.status.st_mode & 0222) == 0) {
        throw not_writable(
            target.status, visible(target.path()) + " is read-only", "",
            "make it writable first, e.g. chmod u+w in bash_exec, if it should be changed");
    }
}

UniqueFd open_for_reading(const WriteTarget& target)
{
    UniqueFd fd(::open(descriptor_path(target.file.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) {
        throw_write_error(errno, target.directory.get(), "read " + visible(target.path()));
    }
    return fd;
}

void require_narrow(int fd, const WriteTarget& target)
{
    std::array<char, 4> mark;
    const ssize_t size = ::pread(fd, mark.data(), mark.size(), 0);
    if (size < 0) {
        throw errno_error(errno, "read " + visible(target.path()));
    }
    const std::string encoding(wide_encoding({mark.data(), static_cast<std::size_t>(size)}));
    if (!encoding.empty()) {
        const std::string name = encoding.substr(0, encoding.size() - 2); // either end
        throw Error(ErrorCode::unsupported,
                    visible(target.path()) + " is " + encoding +
                        " text, into which UTF-8 cannot be put: nothing was changed",
                    "convert it in bash_exec (iconv -f " + name +
                        " -t UTF-8), change that, and convert it back (iconv -f UTF-8 -t " + name +
                        ")");
    }
}

void require_hash(const WriteTarget& target, const std::string& if_sha256,
                  const CallContext& context)
{
    if (if_sha256.empty()) {
        return;
    }
    std::string wanted = if_sha256;
    std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::size_t fewest_digits = 12;
    if (wanted.size() < fewest_digits || wanted.size() > 64 ||
        wanted.find_first_not_of("0123456789abcdef") != std::string::npos) {
        throw Error(ErrorCode::invalid_argument, "if_sha256 is not a SHA-256",
                    "give the hex digits that read_file showed, at least 12");
    }
    const std::string path = visible(target.path());
    if (!target.exists()) {
        throw Error(
            Error(ErrorCode::conflict, path + " does not exist", "leave out if_sha256 to create it")
                .with_detail("sha256", "")
                .set_retryable(false));
    }
    const auto size = static_cast<std::uint64_t>(target.status.st_size);
    if (size > max_hashed_size) {
        throw Error(ErrorCode::too_large, path + " is too large to be compared by its hash",
                    "leave out if_sha256");
    }
    const UniqueFd fd = open_for_reading(target);
    const std::string present = hash_file(fd.get(), size, target.path(), context);
    if (!present.starts_with(wanted)) {
        throw Error(Error(ErrorCode::conflict,
                          path + " has changed: its sha256 is " + present + ", not " + wanted,
                          "read it again, then repeat the change with the present sha256")
                        .with_detail("sha256", present)
                        .set_retryable(false)); // as it stands it will not match later either
    }
}

} // namespace berth::guest
