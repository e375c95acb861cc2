#include "sandbox/guest/files/tree_files.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/stream.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

/// Every level costs a descriptor.
constexpr int max_depth = 200;
/// No call could ever name it again: arguments are UTF-8.
constexpr const char* not_utf8 = "its name is not UTF-8";

class TreeLister {
  public:
    TreeLister(const std::string& root_path, const TreeLimits& limits, const CallContext& context)
        : root_path_(root_path), limits_(limits), context_(context)
    {
    }

    void list(UniqueFd directory, const std::string& prefix, int depth)
    {
        throw_if_stopped(context_);
        const auto stream = stream_of(std::move(directory));
        if (!stream) {
            throw errno_error(errno, "list " + visible(root_path_ + "/" + prefix));
        }
        const int fd = ::dirfd(stream.get());
        bool empty = true;
        while (const dirent* entry = next(stream.get(), prefix)) {
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") {
                empty = false;
                take(fd, entry->d_name, prefix + entry->d_name, depth);
            }
        }
        const auto own = std::string_view(prefix).substr(0, prefix.size() - (depth > 0 ? 1 : 0));
        if (empty && depth > 0 && (!limits_.wanted || limits_.wanted(own))) {
            skip(std::string(own), "empty directory");
        }
    }

    TreeFiles finish()
    {
        std::sort(found_.files.begin(), found_.files.end(),
                  [](const TreeFile& a, const TreeFile& b) { return a.name < b.name; });
        std::sort(found_.skipped.begin(), found_.skipped.end());
        return std::move(found_);
    }

  private:
    /// Null at the end only: a part of a tree must not be taken for the whole.
    const dirent* next(DIR* stream, const std::string& prefix)
    {
        errno = 0;
        const dirent* entry = ::readdir(stream);
        if (entry == nullptr && errno != 0) {
            throw errno_error(errno, "list " + visible(root_path_ + "/" + prefix));
        }
        return entry;
    }

    void skip(const std::string& name, const std::string& reason)
    {
        ++found_.skipped_total;
        if (found_.skipped.size() < max_skipped) {
            found_.skipped.push_back(visible(name) + ": " + reason);
        }
    }

    /// Of what may have content.
    void leave_out(const std::string& path, const std::string& reason, ErrorCode code)
    {
        if (limits_.all_or_none) {
            throw Error(code, visible(root_path_ + "/" + path) + ": " + reason,
                        "make it one that can be read (its mode, its name, how deep it is), or "
                        "remove it");
        }
        skip(path, reason);
    }

    void take(int parent, const char* name, const std::string& path, int depth)
    {
        struct stat status = {};
        if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            const bool is_gone = errno == ENOENT; // since it was listed
            const bool may_matter = !limits_.wanted || limits_.wanted(path) || limits_.enters(path);
            if (!is_gone && limits_.all_or_none && may_matter) {
                leave_out(path, "permission denied", ErrorCode::permission_denied);
            }
            return;
        }
        if (S_ISDIR(status.st_mode)) {
            if (!limits_.enters || limits_.enters(path)) {
                enter(parent, name, path, depth);
            }
            return;
        }
        if (limits_.wanted && !limits_.wanted(path)) {
            return;
        }
        if (!S_ISREG(status.st_mode)) {
            skip(path, utf8::is_valid(path) ? type_of_special(status.st_mode) : not_utf8);
            return;
        }
        if (!utf8::is_valid(path)) {
            leave_out(path, not_utf8, ErrorCode::invalid_path);
            return;
        }
        if (::faccessat(parent, name, R_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0) {
            leave_out(path, "permission denied", ErrorCode::permission_denied);
            return;
        }
        add({.name = path, .size = static_cast<std::uint64_t>(status.st_size)});
    }

    void enter(int parent, const char* name, const std::string& path, int depth)
    {
        if (!utf8::is_valid(path)) {
            leave_out(path, not_utf8, ErrorCode::invalid_path);
            return;
        }
        UniqueFd child(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!child || depth >= max_depth) {
            leave_out(path, child ? "too deep" : "cannot be opened",
                      child ? ErrorCode::too_large : ErrorCode::permission_denied);
            return;
        }
        list(std::move(child), path + "/", depth + 1);
    }

    void add(TreeFile file)
    {
        found_.bytes += file.size;
        found_.files.push_back(std::move(file));
        if (found_.files.size() > limits_.max_entries) {
            throw Error(ErrorCode::too_large,
                        visible(root_path_) + " has more than " +
                            std::to_string(limits_.max_entries) + " files",
                        "name a smaller directory or a narrower pattern, or pack it with tar");
        }
        if (found_.bytes > limits_.max_bytes) {
            throw Error(ErrorCode::too_large,
                        "the files of " + visible(root_path_) + " have more than " +
                            std::to_string(limits_.max_bytes) + " bytes",
                        "name fewer files, or compress them");
        }
    }

    const std::string& root_path_;
    const TreeLimits& limits_;
    const CallContext& context_;
    TreeFiles found_;
};

} // namespace

TreeFiles list_tree(int root, const std::string& root_path, const TreeLimits& limits,
                    const CallContext& context)
{
    UniqueFd own(::openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own) {
        throw errno_error(errno, "list " + visible(root_path));
    }
    TreeLister lister(root_path, limits, context);
    lister.list(std::move(own), "", 0);
    return lister.finish();
}

std::string type_of_special(mode_t mode)
{
    return S_ISLNK(mode)    ? "symbolic link"
           : S_ISFIFO(mode) ? "named pipe"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

} // namespace berth::guest
