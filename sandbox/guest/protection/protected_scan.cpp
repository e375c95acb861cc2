#include "sandbox/guest/protection/protected_scan.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/is_in.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/guest/protection/protected_names.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr std::size_t most_folders = 32;
constexpr std::size_t most_files = 1000;
constexpr std::size_t most_entries = 2000;
constexpr int most_levels = 3;
constexpr std::int64_t second = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) noexcept
{
    return time.tv_sec * second + time.tv_nsec;
}

bool is_absent(int error) noexcept
{
    return error == ENOENT || error == ENOTDIR;
}

std::string path_in(std::string folder, const std::string& name)
{
    return folder.append("/").append(name);
}

/// What is looked at on the way to one scan.
class Scanner {
  public:
    Scanner(const protocol::Protection& protection, const protocol::GuestConfig& config)
        : protection_(protection), config_(config), roots_(protected_roots(config))
    {
    }

    /// A folder, and those above it.
    void look_from(const std::string& place)
    {
        const UniqueFd opened(open_without_magic(AT_FDCWD, place, O_PATH | O_DIRECTORY));
        if (!opened) {
            return;
        }
        std::string folder = path_of(opened.get());
        const auto root = std::ranges::find_if(
            roots_, [&](const std::string& candidate) { return is_in(folder, candidate); });
        while (root != roots_.end() && is_in(folder, *root) && look_at(folder) && folder != "/") {
            folder.resize(std::max<std::size_t>(folder.rfind('/'), 1));
        }
    }

    /// The folders that are protected whole. Behind all else: a command can fill one, and what it
    /// did beside that must be seen all the same.
    void list_folders()
    {
        for (const auto& folder : found_.folders) {
            const UniqueFd opened(open_without_magic(AT_FDCWD, folder, O_PATH | O_DIRECTORY));
            for (std::string name : protection_.paths) {
                const bool of_home = name.starts_with("~/");
                if (opened && name.ends_with('/') && (!of_home || folder == config_.home)) {
                    name.erase(0, of_home ? 2 : 0);
                    name.pop_back();
                    list(opened.get(), name, {folder, path_in(folder, name)}, most_levels);
                }
            }
        }
    }

    [[nodiscard]] ProtectedScan take() { return std::move(found_); }

  private:
    /// False: it was looked at before, and so was all above it.
    bool look_at(const std::string& folder)
    {
        if (found_.folders.size() >= most_folders || !found_.folders.insert(folder).second) {
            return false;
        }
        const UniqueFd opened(open_without_magic(AT_FDCWD, folder, O_PATH | O_DIRECTORY));
        if (!opened) {
            found_.unread.insert(folder);
            return true;
        }
        for (std::string name : protection_.paths) {
            const bool of_home = name.starts_with("~/");
            if (of_home && folder != config_.home) {
                continue;
            }
            name.erase(0, of_home ? 2 : 0);
            if (!name.ends_with('/')) {
                add(opened.get(), name, {folder, path_in(folder, name)});
            }
        }
        return true;
    }

    struct Place {
        const std::string& folder; ///< that was looked at
        std::string path;
    };

    std::optional<FileStamp> add(int at, const std::string& name, const Place& place)
    {
        const auto stamp = stamp_of(at, name);
        if (!stamp) {
            if (!is_absent(errno)) {
                found_.unread.insert(place.path);
            }
        } else if (found_.files.size() < most_files) {
            found_.files.insert_or_assign(place.path, ProtectedScan::File{place.folder, *stamp});
        } else {
            found_.unread.insert(place.path); // not looked at: nothing is known of it
        }
        return stamp;
    }

    /// Not all of them where they are too many: a command can make millions, and wants the guest to
    /// have them in its memory.
    std::vector<std::string> names_in(int folder, const std::string& path)
    {
        std::vector<std::string> names;
        // Not opened anew by ".", which one that may be read and not entered refuses.
        const auto stream = stream_of(UniqueFd(::fcntl(folder, F_DUPFD_CLOEXEC, 3)));
        const dirent* entry = nullptr;
        while (stream && entries_left_ > 0 &&
               // NOLINTNEXTLINE(concurrency-mt-unsafe): this stream belongs to one thread
               (entry = ::readdir(stream.get())) != nullptr) {
            --entries_left_;
            const std::string name = entry->d_name;
            if (name != "." && name != ".." && !is_example(name)) {
                names.push_back(name);
            }
        }
        if (!stream || entries_left_ == 0) {
            found_.unread.insert(path);
        }
        return names;
    }

    /// All in a folder, itself left out: its own stamp changes with whatever comes and goes.
    void list(int at, const std::string& name, const Place& place, int levels)
    {
        const UniqueFd opened(open_without_magic(at, name, O_RDONLY | O_DIRECTORY));
        if (!opened) {
            if (!is_absent(errno)) {
                found_.unread.insert(place.path);
            }
            return;
        }
        for (const auto& entry : names_in(opened.get(), place.path)) {
            const Place below{place.folder, path_in(place.path, entry)};
            const auto stamp = add(opened.get(), entry, below);
            if (stamp && S_ISDIR(stamp->mode)) {
                found_.files.erase(below.path);
                if (levels > 1) {
                    list(opened.get(), entry, below, levels - 1);
                }
            }
        }
    }

    const protocol::Protection& protection_;
    const protocol::GuestConfig& config_;
    std::vector<std::string> roots_;
    ProtectedScan found_;
    std::size_t entries_left_ = most_entries;
};

} // namespace

std::optional<FileStamp> stamp_of(int folder, const std::string& name)
{
    struct stat status = {};
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return std::nullopt;
    }
    FileStamp stamp{.device = status.st_dev,
                    .inode = status.st_ino,
                    .size = status.st_size,
                    .changed = nanoseconds(status.st_ctim),
                    .mode = status.st_mode};
    struct stat target = {};
    if (S_ISLNK(status.st_mode) && ::fstatat(folder, name.c_str(), &target, 0) == 0) {
        // Both in one: whichever of the two changes, this does.
        stamp.inode ^= target.st_ino;
        stamp.size += target.st_size;
        stamp.changed = std::max(stamp.changed, nanoseconds(target.st_ctim));
        stamp.mode = S_ISDIR(target.st_mode) ? status.st_mode : target.st_mode;
    }
    return stamp;
}

std::int64_t stamp_time_now() noexcept
{
    timespec now = {};
    (void)::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return nanoseconds(now);
}

ProtectedScan scan_protected(const protocol::Protection& protection,
                             const std::vector<std::string>& places,
                             const protocol::GuestConfig& config)
{
    Scanner scanner(protection, config);
    for (const auto& root : protected_roots(config)) {
        try {
            scanner.look_from(root);
        } catch (const Error&) {
            continue; // it was deleted meanwhile
        }
    }
    for (const auto& place : places) {
        try {
            scanner.look_from(place);
        } catch (const Error&) {
            continue;
        }
    }
    scanner.list_folders();
    return scanner.take();
}

} // namespace berth::guest
