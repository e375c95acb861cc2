#include "sandbox/local/session_folder.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/local/remove_tree.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

struct Part {
    const char* name;
    mode_t mode;
};

constexpr Part home{"home", 0700};
constexpr std::array temporary{Part{"tmp", 01777}, Part{"var-tmp", 01777}, Part{"run", 0755}};
constexpr const char* generation_name = "machine";

void make_part(int folder, const Part& part, uid_t uid, gid_t gid)
{
    if (::mkdirat(folder, part.name, 0700) != 0) {
        if (errno != EEXIST) {
            throw_errno(std::string("make folder ") + part.name);
        }
        return;
    }
    const UniqueFd fd(::openat(folder, part.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || ::fchown(fd.get(), uid, gid) != 0 || ::fchmod(fd.get(), part.mode) != 0) {
        throw_errno(std::string("give folder ") + part.name + " to the session");
    }
}

void make_private(const std::string& path)
{
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        throw_errno("make folder " + path);
    }
}

} // namespace

SessionFolder::SessionFolder(const std::string& state, std::string name)
    : path_(state + "/sessions/" + std::move(name))
{
    make_private(state + "/sessions");
    make_private(path_);
    folder_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder_) {
        throw_errno("open folder " + path_);
    }
}

void SessionFolder::prepare(uid_t uid, gid_t gid) const
{
    remove_temporary();
    make_part(folder_.get(), home, uid, gid);
    for (const auto& part : temporary) {
        make_part(folder_.get(), part, uid, gid);
    }
}

void SessionFolder::remove_temporary() const noexcept
{
    for (const auto& part : temporary) {
        remove_tree(folder_.get(), part.name);
    }
}

void SessionFolder::remove_home() const noexcept
{
    remove_tree(folder_.get(), home.name);
}

std::string SessionFolder::generation() const
{
    try {
        return read_file_limited(folder_.get(), generation_name, 256);
    } catch (const std::exception&) {
        return {};
    }
}

void SessionFolder::set_generation(const std::string& generation) const
{
    write_file_atomically(folder_.get(), generation_name, generation, 0600, /*sync=*/false);
}

void SessionFolder::forget_generation() const noexcept
{
    ::unlinkat(folder_.get(), generation_name, 0);
}

void SessionFolder::remove_if_empty() const noexcept
{
    ::rmdir(path_.c_str());
}

} // namespace berth::local
