#include "sandbox/local/home_limit.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/shell_word.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/project_tree.hpp"

#include <algorithm>
#include <exception>

#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace berth::local {
namespace {

/// Project ids of berth's: 'b' and 24 bits by chance.
constexpr std::uint32_t range = 0x62000000;
constexpr unsigned range_bits = 24;

bool is_ours(std::uint32_t id) noexcept
{
    return id >> range_bits == range >> range_bits;
}

UniqueFd open_home(int folder)
{
    return open_subdirectory(folder, "home");
}

/// By chance and not by the session's uid: state directories that share a file system share its
/// projects, and each has its own list of uids. Two that choose the same of 16 million within the
/// same moment would count together.
std::uint32_t unused_id(ProjectKernel& kernel, int home)
{
    constexpr int tries = 100;
    constexpr int hexadecimal = 16;
    for (int i = 0; i < tries; ++i) {
        const auto chosen = std::stoul(random_hex(range_bits / 8), nullptr, hexadecimal);
        const auto id = range | static_cast<std::uint32_t>(chosen);
        if (kernel.is_unused(home, id)) {
            return id;
        }
    }
    throw Error(ErrorCode::sandbox_unavailable, "no project id was found that is not in use");
}

/// What statfs(2) of the home will tell as its size, since that is where the guest has it from; 0
/// for a limit that the disk is too small for, which statfs does not tell.
std::uint64_t told_limit(int folder, std::uint64_t bytes)
{
    struct statvfs disk{};
    if (::fstatvfs(folder, &disk) != 0) {
        throw_errno("look at the file system");
    }
    constexpr std::uint64_t least = 1024; // what limits are told in
    const auto block = std::max<std::uint64_t>(disk.f_frsize, least);
    const auto blocks = bytes / block + (bytes % block != 0 ? 1 : 0);
    return blocks * block < disk.f_blocks * disk.f_frsize ? blocks * block : 0;
}

constexpr const char* too_large = "session.quota is not smaller than the disk";

std::string try_limit(ProjectKernel& kernel, int folder, std::uint64_t bytes)
{
    const auto home = open_home(folder);
    if (!home) {
        throw_errno("open the home");
    }
    if (auto obstacle = kernel.obstacle(home.get()); !obstacle.empty()) {
        return obstacle;
    }
    const auto limit = told_limit(folder, bytes);
    if (limit == 0) {
        return too_large;
    }
    auto mark = kernel.mark(home.get());
    if (mark.id != 0 && !is_ours(mark.id)) {
        return "the home counts for project " + std::to_string(mark.id) +
               ", which is not berth's, and stays so";
    }
    if (!is_ours(mark.id) || !mark.inherited) {
        mark.id = unused_id(kernel, home.get());
        give_project(kernel, home.get(), mark.id);
    }
    kernel.set_limit(home.get(), mark.id, limit);
    return {};
}

} // namespace

std::string limit_home(ProjectKernel& kernel, int folder, std::uint64_t bytes)
{
    std::string reason = "session.quota is not set";
    if (bytes != 0) {
        try {
            reason = try_limit(kernel, folder, bytes);
        } catch (const std::exception& error) {
            reason = error.what();
        }
    }
    if (!reason.empty()) {
        drop_home_limit(kernel, folder);
    }
    return reason;
}

bool change_home_limit(ProjectKernel& kernel, int at, const std::string& path,
                       std::uint64_t bytes) noexcept
{
    try {
        const UniqueFd folder = open_subdirectory(at, path.c_str());
        const auto home = folder ? open_home(folder.get()) : UniqueFd();
        if (!home || bytes == 0 || !kernel.obstacle(home.get()).empty()) {
            return false;
        }
        const auto mark = kernel.mark(home.get());
        const auto limit = told_limit(folder.get(), bytes);
        if (limit == 0 || !is_ours(mark.id) || kernel.limit(home.get(), mark.id) == 0) {
            return false;
        }
        kernel.set_limit(home.get(), mark.id, limit);
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

void drop_home_limit(ProjectKernel& kernel, int folder) noexcept
{
    try {
        const auto home = open_home(folder);
        // Most file systems know no projects: that is no reason to throw for each machine.
        if (!home || !kernel.obstacle(home.get()).empty()) {
            return;
        }
        const auto mark = kernel.mark(home.get());
        if (is_ours(mark.id) && kernel.limit(home.get(), mark.id) != 0) {
            kernel.set_limit(home.get(), mark.id, 0);
        }
    } catch (const std::exception&) {
        return; // of a project of which nothing is left: the next one that has the id sets its own
    }
}

std::string home_limit_remedy(const std::string& state)
{
    if (::geteuid() != 0) {
        return "run berth as root, with the state directory on ext4 or XFS mounted with -o "
               "prjquota; elsewhere berth counts";
    }
    const std::string place = shell_word(state);
    const std::string device = "$(findmnt -no SOURCE -T " + place + ")";
    struct statfs system{};
    const bool known = ::statfs(state.c_str(), &system) == 0;
    if (known && system.f_type == XFS_SUPER_MAGIC) {
        return "the kernel must have CONFIG_XFS_QUOTA, without which nothing else helps; then "
               "unmount the file system of " +
               state +
               " and mount it with `-o prjquota`, in /etc/fstab too (of the root file system: "
               "rootflags=prjquota on the kernel's command line)";
    }
    if (known && system.f_type == EXT4_SUPER_MAGIC) {
        return "the kernel must have CONFIG_QFMT_V2, without which nothing else helps; then, with "
               "the file system of " +
               state +
               " unmounted: `tune2fs -O project,quota -Q "
               "prjquota " +
               device +
               "`, and mount it with `-o prjquota`, in /etc/fstab too (of the root file system: "
               "rootflags=prjquota on the kernel's command line)";
    }
    return "give the state directory a file system for it: `mkfs.ext4 -O project,quota -E "
           "quotatype=prjquota DEVICE && mount -o prjquota DEVICE " +
           place + "`";
}

} // namespace berth::local
