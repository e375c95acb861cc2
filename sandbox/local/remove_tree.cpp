#include "sandbox/local/remove_tree.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <cerrno>
#include <cstring>
#include <exception>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr int max_depth = 48;

UniqueFd open_directory(int parent, const char* name)
{
    constexpr int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd directory(::openat(parent, name, O_RDONLY | flags));
    const UniqueFd handle(::openat(parent, name, O_PATH | flags));
    if (handle) {
        // As an ordinary user a folder of mode 0 would stay for ever. By descriptor: fchmodat
        // would follow a link that has taken the name.
        const std::string path = "/proc/self/fd/" + std::to_string(handle.get());
        if (::chmod(path.c_str(), 0700) == 0 && !directory) {
            directory.reset(::openat(parent, name, O_RDONLY | flags));
        }
    }
    return directory;
}

class Remover {
  public:
    explicit Remover(int top) noexcept : top_(top) {}

    /// Empties `directory`; true when it got smaller.
    bool empty(const UniqueFd& directory, int depth)
    {
        const auto stream = open_stream(directory.get());
        if (!stream) {
            return false;
        }
        bool progress = false;
        while (const dirent* entry = ::readdir(stream.get())) {
            if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) {
                progress = remove(directory, entry->d_name, depth) || progress;
            }
        }
        return progress;
    }

  private:
    bool remove(const UniqueFd& parent, const char* name, int depth)
    {
        if (::unlinkat(parent.get(), name, 0) == 0 ||
            ::unlinkat(parent.get(), name, AT_REMOVEDIR) == 0) {
            return true;
        }
        const UniqueFd directory = open_directory(parent.get(), name);
        if (!directory) {
            return false;
        }
        if (depth == max_depth) {
            // Deeper than the stack may be: it comes up to the top and is met there again. Under a
            // name that nobody can guess: a command that had made a folder of that name, and the
            // depth inside of it, could not be cleared up after any more.
            const std::string moved = ".berth-deep-" + random_hex(16);
            return ::renameat(parent.get(), name, top_, moved.c_str()) == 0;
        }
        const bool progress = empty(directory, depth + 1);
        return ::unlinkat(parent.get(), name, AT_REMOVEDIR) == 0 || progress;
    }

    int top_;
};

} // namespace

bool remove_tree(int at, const std::string& name) noexcept
{
    try {
        if (::unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT ||
            ::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0) {
            return true;
        }
        const UniqueFd top = open_directory(at, name.c_str());
        if (!top) {
            return false;
        }
        Remover remover(top.get());
        while (::unlinkat(at, name.c_str(), AT_REMOVEDIR) != 0) {
            if (!remover.empty(top, 0)) {
                return false;
            }
        }
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

} // namespace berth::local
