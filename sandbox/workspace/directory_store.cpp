#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/workspace/area.hpp"
#include "sandbox/workspace/publish.hpp"
#include "sandbox/workspace/store.hpp"
#include "sandbox/workspace/store_error.hpp"
#include "sandbox/workspace/stored_file.hpp"
#include "sandbox/workspace/tree.hpp"
#include "sandbox/workspace/writer_area.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::workspace {
namespace {

[[noreturn]] void refuse_missing(const std::string& path)
{
    throw Error(ErrorCode::not_found, "there is no '" + visible(path) + "' in the workspace",
                "list_workspace_files shows what is there");
}

[[noreturn]] void refuse_to_read_folder(const std::string& path)
{
    throw Error(ErrorCode::is_directory, "'" + visible(path) + "' in the workspace is a folder",
                "name one of its files; list_workspace_files shows them");
}

/// <root>/<sha256 of the principal>/{files,tmp,journal}. The hash keeps principals apart whatever
/// they are called; the folder `files` holds user names only, so none of them can collide with
/// ours.
class DirectoryStore : public Store {
  public:
    explicit DirectoryStore(std::string root) : root_(std::move(root)) {}

    std::unique_ptr<Writer> create(const std::string& principal, const std::string& path,
                                   std::uint32_t mode, bool overwrite) override
    {
        std::string normalised = normalise(path);
        auto area = area_of(principal);
        return std::make_unique<StoredWriter>(std::move(area), std::move(normalised), mode,
                                              overwrite);
    }

    std::vector<Entry> commit(const std::vector<std::unique_ptr<Writer>>& writers,
                              const std::stop_token& stop) override
    {
        std::vector<StoredWriter*> stored;
        stored.reserve(writers.size());
        for (const auto& writer : writers) {
            stored.push_back(dynamic_cast<StoredWriter*>(writer.get()));
        }
        publish(stored, stop);
        std::vector<Entry> entries;
        entries.reserve(stored.size());
        for (const auto* writer : stored) {
            entries.push_back(writer->entry());
        }
        return entries;
    }

    std::unique_ptr<Reader> open(const std::string& principal, const std::string& path) override
    {
        const std::string normalised = normalise(path);
        (void)split(normalised);
        UniqueFd fd;
        if (const Area area = open_area(root_, principal); area.files) {
            const AreaLock lock(area, AreaLock::Mode::shared);
            fd = open_below(area.files.get(), normalised, O_RDONLY | O_NONBLOCK);
        }
        struct stat status{};
        if (!fd || ::fstat(fd.get(), &status) != 0) {
            refuse_missing(normalised);
        }
        if (S_ISDIR(status.st_mode)) {
            refuse_to_read_folder(normalised);
        }
        Entry entry = read_entry(fd.get(), normalised);
        return std::make_unique<StoredReader>(std::move(fd), std::move(entry));
    }

    std::vector<Entry> list(const std::string& principal, const std::string& prefix,
                            std::size_t limit, std::size_t& total,
                            const std::string& after) override
    {
        const std::string normalised = prefix.empty() ? "/" : normalise(prefix);
        total = 0;
        const Area area = open_area(root_, principal);
        if (!area.files) {
            return {};
        }
        const int files = area.files.get();
        const AreaLock lock(area, AreaLock::Mode::shared);
        auto paths = paths_of(files, normalised);
        std::sort(paths.begin(), paths.end());
        std::vector<Entry> entries;
        std::size_t vanished = 0;
        for (auto path = std::ranges::upper_bound(paths, after);
             path != paths.end() && entries.size() < limit; ++path) {
            if (const UniqueFd fd = open_below(files, *path, O_RDONLY | O_NONBLOCK)) {
                entries.push_back(read_entry(fd.get(), std::move(*path)));
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
        const Area area = open_area(root_, principal);
        if (!area.files) {
            refuse_missing(normalised);
        }
        const AreaLock lock(area, AreaLock::Mode::exclusive);
        const UniqueFd folder = open_below(area.files.get(), folder_path, O_RDONLY | O_DIRECTORY);
        if (!folder) {
            refuse_missing(normalised);
        }
        if (::unlinkat(folder.get(), name.c_str(), 0) != 0) {
            if (errno == ENOENT) {
                refuse_missing(normalised);
            }
            if (errno == EISDIR) {
                refuse_to_read_folder(normalised);
            }
            throw store_error(errno, "delete " + normalised + " from the workspace");
        }
        ::fsync(folder.get());
        prune(area.files.get(), folder_path);
    }

  private:
    /// One for all writers of a principal that live at once: a save of a thousand files holds three
    /// descriptors, not thousands, and has one mark.
    [[nodiscard]] std::shared_ptr<const WriterArea> area_of(const std::string& principal)
    {
        const std::lock_guard lock(mutex_);
        auto area = areas_[principal].lock();
        if (!area) {
            std::erase_if(areas_, [](const auto& entry) { return entry.second.expired(); });
            area = std::make_shared<const WriterArea>(root_, principal);
            areas_[principal] = area;
        }
        return area;
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
    std::map<std::string, std::weak_ptr<const WriterArea>> areas_; ///< guarded by mutex_
};

} // namespace

std::unique_ptr<Store> make_directory_store(const std::string& root)
{
    return std::make_unique<DirectoryStore>(root);
}

} // namespace berth::workspace
