#include "sandbox/local/session_parts.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

/// From folder to folder: the one that it is in may be the session's.
UniqueFd open_outputs_parent(int folder)
{
    UniqueFd parent(
        ::openat(folder, outputs_parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!parent) {
        throw_errno(std::string("open folder ") + outputs_parent);
    }
    return parent;
}

} // namespace

void make_part(int folder, const Part& part)
{
    if (::mkdirat(folder, part.name, 0700) != 0) {
        throw_errno(std::string("make folder ") + part.name);
    }
}

void give_part(int folder, const Part& part, uid_t uid, gid_t gid)
{
    const UniqueFd fd = open_subdirectory(folder, part.name);
    if (!fd || ::fchown(fd.get(), uid, gid) != 0 || ::fchmod(fd.get(), part.mode) != 0) {
        throw_errno(std::string("give folder ") + part.name + " to the session");
    }
}

void write_readable(int folder, const char* name, std::string_view content)
{
    const UniqueFd file(::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!file) {
        throw_errno(std::string("make the file ") + name);
    }
    write_full(file.get(), content);
    if (::fchmod(file.get(), 0444) != 0) {
        throw_errno(std::string("let the file be read ") + name);
    }
}

void make_machine_id(int folder)
{
    write_readable(folder, machine_id_name, random_hex(16) + "\n");
}

void make_outputs(int folder)
{
    make_part(open_outputs_parent(folder).get(), outputs_part);
}

void give_outputs(int folder, uid_t uid, gid_t gid)
{
    give_part(open_outputs_parent(folder).get(), outputs_part, uid, gid);
}

} // namespace berth::local
