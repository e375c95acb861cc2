#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/workspace/store.hpp"
#include "sandbox/workspace/stored_file.hpp"
#include "sandbox/workspace/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::workspace {
namespace {

constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
constexpr std::time_t leftover_age = 24L * 3600;

[[noreturn]] void refuse_missing(const std::string& path)
{
    throw Error(ErrorCode::not_found, "there is no '" + path + "' in the workspace",
                "list_workspace_files shows what is there");
}

[[noreturn]] void refuse_folder(const std::string& path)
{
    throw Error(ErrorCode::is_directory, "'" + path + "' in the workspace is a folder",
                "name one of its files; list_workspace_files shows them");
}

/// Removes what writers that died left behind. A living writer's file is younger: each write
/// renews its time.
void sweep(int temporary)
{
    const std::time_t now = std::time(nullptr);
    for (const auto& name : directory_names(temporary)) {
        struct stat status{};
        if (::fstatat(temporary, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            now - status.st_mtim.tv_sec > leftover_age) {
            ::unlinkat(temporary, name.c_str(), 0);
        }
    }
}

/// <root>/<sha256 of the principal>/{files,tmp}. The hash keeps principals apart whatever they
/// are called; the folder `files` holds user names only, so none of them can collide with ours.
class DirectoryStore : public Store {
  public:
    explicit DirectoryStore(std::string root) : root_(std::move(root)) {}

    std::unique_ptr<Writer> create(const std::string& principal, const std::string& path,
                                   std::uint32_t mode, bool overwrite) override
    {
        std::string normalised = normalise(path);
        auto area = area_of(principal);
        sweep(area->temporary.get());
        return std::make_unique<StoredWriter>(std::move(area), std::move(normalised), mode,
                                              overwrite);
    }

    std::unique_ptr<Reader> open(const std::string& principal, const std::string& path) override
    {
        const std::string normalised = normalise(path);
        (void)split(normalised);
        const UniqueFd files = open_files(principal);
        UniqueFd fd =
            files ? open_below(files.get(), normalised, O_RDONLY | O_NONBLOCK) : UniqueFd();
        struct stat status{};
        if (!fd || ::fstat(fd.get(), &status) != 0) {
            refuse_missing(normalised);
        }
        if (S_ISDIR(status.st_mode)) {
            refuse_folder(normalised);
        }
        Entry entry = read_entry(fd.get(), normalised);
        return std::make_unique<StoredReader>(std::move(fd), std::move(entry));
    }

    std::vector<Entry> list(const std::string& principal, const std::string& prefix,
                            std::size_t limit, std::size_t& total) override
    {
        const std::string normalised = prefix.empty() ? "/" : normalise(prefix);
        total = 0;
        const UniqueFd files = open_files(principal);
        if (!files) {
            return {};
        }
        auto paths = paths_of(files.get(), normalised);
        std::sort(paths.begin(), paths.end());
        std::vector<Entry> entries;
        std::size_t vanished = 0;
        for (auto& path : paths) {
            if (entries.size() == limit) {
                break;
            }
            if (const UniqueFd fd = open_below(files.get(), path, O_RDONLY | O_NONBLOCK)) {
                entries.push_back(read_entry(fd.get(), std::move(path)));
            } else {
                ++vanished;
            }
        }
        total = paths.size() - vanished;
        return entries;
    }

    void remove(const std::string& principal, const std::string& path) override
    {
        const std::string normalised = normalise(path);
        const auto [folder_path, name] = split(normalised);
        const UniqueFd files = open_files(principal);
        const UniqueFd folder =
            files ? open_below(files.get(), folder_path, O_RDONLY | O_DIRECTORY) : UniqueFd();
        if (!folder) {
            refuse_missing(normalised);
        }
        if (::unlinkat(folder.get(), name.c_str(), 0) != 0) {
            if (errno == ENOENT) {
                refuse_missing(normalised);
            }
            if (errno == EISDIR) {
                refuse_folder(normalised);
            }
            throw errno_error(errno, "delete " + normalised + " from the workspace");
        }
        ::fsync(folder.get());
        prune(files.get(), folder_path);
    }

  private:
    /// One for all writers of a principal that live at once: a save of a thousand files holds two
    /// descriptors, not two thousand.
    [[nodiscard]] std::shared_ptr<const Area> area_of(const std::string& principal)
    {
        const std::lock_guard lock(mutex_);
        auto area = areas_[principal].lock();
        if (!area) {
            std::erase_if(areas_, [](const auto& entry) { return entry.second.expired(); });
            area = std::make_shared<const Area>(make_area(principal));
            areas_[principal] = area;
        }
        return area;
    }

    [[nodiscard]] Area make_area(const std::string& principal) const
    {
        const UniqueFd root = open_or_make_directory(root_);
        const UniqueFd own = open_or_make_subdirectory(root.get(), sha256_hex(principal));
        Area area;
        if (own) {
            area.files = open_or_make_subdirectory(own.get(), "files");
            area.temporary = open_or_make_subdirectory(own.get(), "tmp");
        }
        if (!area.files || !area.temporary) {
            throw errno_error(errno, "open the workspace in " + root_);
        }
        return area;
    }

    /// Invalid when the principal has stored nothing yet.
    [[nodiscard]] UniqueFd open_files(const std::string& principal) const
    {
        const std::string path = root_ + "/" + sha256_hex(principal) + "/files";
        UniqueFd fd(::open(path.c_str(), directory_flags));
        if (!fd && errno != ENOENT) {
            throw errno_error(errno, "open the workspace in " + root_);
        }
        return fd;
    }

    static std::vector<std::string> paths_of(int files, const std::string& prefix)
    {
        struct stat status{};
        const UniqueFd there = open_below(files, prefix, O_PATH | O_NOFOLLOW);
        if (!there || ::fstat(there.get(), &status) != 0) {
            return {};
        }
        if (S_ISREG(status.st_mode)) {
            return {prefix};
        }
        return files_below(files, prefix);
    }

    std::string root_;
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<const Area>> areas_; ///< guarded by mutex_
};

} // namespace

std::unique_ptr<Store> make_directory_store(const std::string& root)
{
    return std::make_unique<DirectoryStore>(root);
}

} // namespace berth::workspace
