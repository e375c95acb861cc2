#include "sandbox/local/template_rules.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/mount_table.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/source_rules.hpp"

#include <array>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* called = "template";

Error template_refusal(const std::string& message, const std::string& hint)
{
    return {ErrorCode::invalid_argument, message, hint};
}

/// Who may write to the folder besides root; empty: nobody.
std::string other_writer(const struct stat& status)
{
    constexpr mode_t by_group = 0020;
    constexpr mode_t by_others = 0002;
    if (status.st_uid != 0) {
        return "uid " + std::to_string(status.st_uid) + ", its owner,";
    }
    if ((status.st_mode & by_group) != 0 && status.st_gid != 0) {
        return "the group " + std::to_string(status.st_gid);
    }
    return (status.st_mode & by_others) != 0 ? "everybody" : "";
}

/// `above`: in a folder with the sticky bit nobody replaces what is another's.
void require_roots_own(const std::string& path, bool above)
{
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0 || S_ISLNK(status.st_mode)) {
        return;
    }
    const bool is_safe = above && (status.st_mode & S_ISVTX) != 0 && status.st_uid == 0;
    const auto writer = is_safe ? "" : other_writer(status);
    if (!writer.empty()) {
        throw template_refusal(
            "template: " + path + " may be written to by " + writer +
                " and could have programs put in that every session would run",
            "give it to root, writable by nobody else: chown root:root and chmod 755; or "
            "put the template elsewhere");
    }
}

void require_roots_own(const std::string& directory)
{
    for (auto path = directory; !path.empty(); path.resize(path.rfind('/'))) {
        require_roots_own(path, path != directory);
    }
    for (const std::string_view part :
         {"/usr", "/usr/bin", "/usr/lib", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt"}) {
        require_roots_own(directory + std::string(part), false);
    }
}

/// By whatever name the mount shows it, or a part of it.
bool shows(const sandbox::Mount& mount, const std::string& directory, const MountTable& mounts)
{
    const UniqueFd at(::open(directory.c_str(), O_PATH | O_CLOEXEC));
    const UniqueFd source(::open(mount.source.c_str(), O_PATH | O_CLOEXEC));
    if (at && source &&
        (contains(id_of(at.get(), directory), mount.source) ||
         contains(id_of(source.get(), mount.source), directory))) {
        return true;
    }
    const auto of_mount = mounts.pieces(mount.source);
    const auto of_template = mounts.pieces(directory);
    return !seen_at(of_mount, of_template).empty() || !seen_at(of_template, of_mount).empty();
}

} // namespace

void check_template(const std::string& directory, const std::vector<sandbox::Mount>& mounts,
                    const std::vector<OwnFolder>& own)
{
    const auto table = MountTable::read();
    (void)check_source({.path = directory, .called = called}, own, table);
    struct stat status{};
    if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        throw template_refusal(std::string(called) + ' ' + directory + " is not a folder",
                               "unpack what it is made of, and name the folder");
    }
    if (::geteuid() == 0) {
        require_roots_own(directory);
    }
    for (const auto& mount : mounts) {
        if (mount.writable && shows(mount, directory, table)) {
            throw template_refusal(
                std::string(called) + ' ' + directory +
                    " could be changed from inside through the writable mount of " + mount.source +
                    " on " + mount.target,
                "mount that read-only, or put the template elsewhere");
        }
    }
}

} // namespace berth::local
