#include "sandbox/local/project_tree.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace berth::local {
namespace {

/// Nothing where the name is a link, something mounted, or gone.
UniqueFd open_entry(int folder, const char* name, std::uint64_t more)
{
    open_how how{};
    // Without O_NONBLOCK a pipe that has taken the name would hold the server for ever.
    how.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | more;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
    UniqueFd fd(sys::openat2(folder, name, how));
    if (!fd && errno != ELOOP && errno != EXDEV && errno != ENOENT && errno != ENOTDIR) {
        throw_errno("open a file of the home");
    }
    return fd;
}

struct stat status_of(int fd)
{
    struct stat status{};
    if (::fstat(fd, &status) != 0) {
        throw_errno("look at a file of the home");
    }
    return status;
}

/// A walk that has one folder open and comes back by "..", since descriptors are few and a home can
/// be deeper than any number of them.
class Marker {
  public:
    Marker(ProjectKernel& kernel, std::uint32_t id) : kernel_(kernel), id_(id) {}

    void run(int top)
    {
        here_.reset(::openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!here_) {
            throw_errno("open the home");
        }
        enter();
        while (!levels_.empty()) {
            auto& folders = levels_.back().folders;
            if (folders.empty()) {
                leave();
                continue;
            }
            const std::string name = std::move(folders.back());
            folders.pop_back();
            if (auto next = open_entry(here_.get(), name.c_str(), O_DIRECTORY)) {
                here_ = std::move(next);
                enter();
            }
        }
    }

  private:
    struct Level {
        dev_t device = 0;
        ino_t inode = 0;
        std::vector<std::string> folders; ///< that are still to be entered
    };

    void mark(int fd, bool folder)
    {
        const ProjectMark wanted{.id = id_, .inherited = folder};
        if (kernel_.mark(fd) != wanted) {
            kernel_.set_mark(fd, wanted);
        }
    }

    void mark_file(const char* name)
    {
        const auto file = open_entry(here_.get(), name, 0);
        if (file && S_ISREG(status_of(file.get()).st_mode)) {
            mark(file.get(), false);
        }
    }

    /// Marks the files of the folder. Of folders alone the names are kept: a list of all files
    /// would be as long as whoever makes them wants it, and costs them less.
    void enter()
    {
        const auto status = status_of(here_.get());
        levels_.push_back({status.st_dev, status.st_ino, {}});
        const auto entries = open_stream(here_.get());
        if (!entries) {
            throw_errno("read a folder of the home");
        }
        // NOLINTNEXTLINE(concurrency-mt-unsafe): safe on a stream that one thread uses
        for (errno = 0; const dirent* const entry = ::readdir(entries.get()); errno = 0) {
            const std::string name = static_cast<const char*>(entry->d_name);
            if (name != "." && name != "..") {
                meet(name);
            }
        }
        // What was not read would have no mark, and no limit.
        if (errno != 0) {
            throw_errno("read a folder of the home");
        }
    }

    void meet(const std::string& name)
    {
        struct stat found{};
        if (::fstatat(here_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
            throw_errno("look at a file of the home");
        }
        if (S_ISDIR(found.st_mode)) {
            levels_.back().folders.push_back(name);
        } else if (S_ISREG(found.st_mode)) {
            mark_file(name.c_str());
        }
    }

    void leave()
    {
        mark(here_.get(), true);
        levels_.pop_back();
        if (levels_.empty()) {
            return;
        }
        UniqueFd above(::openat(here_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!above) {
            throw_errno("leave a folder of the home");
        }
        const auto status = status_of(above.get());
        // A folder that was moved away meanwhile would lead out of the home.
        if (status.st_dev != levels_.back().device || status.st_ino != levels_.back().inode) {
            throw Error(ErrorCode::conflict, "a folder of the home was moved away meanwhile");
        }
        here_ = std::move(above);
    }

    ProjectKernel& kernel_;
    const std::uint32_t id_;
    UniqueFd here_;
    std::vector<Level> levels_;
};

} // namespace

void give_project(ProjectKernel& kernel, int top, std::uint32_t id)
{
    Marker(kernel, id).run(top);
}

} // namespace berth::local
