#include "sandbox/local/project_kernel.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/syscalls.hpp"

#include <cerrno>
#include <system_error>

#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>

namespace berth::local {
namespace {

/// Of if_dqblk, whatever the file system's blocks are.
constexpr std::uint64_t quota_block = 1024;

/// Not QCMD of <linux/quota.h>, whose shift is of a signed number.
constexpr unsigned of_projects(unsigned command)
{
    constexpr unsigned shift = 8; // SUBCMDSHIFT
    return command << shift | static_cast<unsigned>(PRJQUOTA);
}

/// False where the project is not known to the file system: nothing was ever counted for it.
bool read_quota(int fd, std::uint32_t id, if_dqblk& quota)
{
    if (sys::quotactl_fd(fd, of_projects(Q_GETQUOTA), id, &quota) == 0) {
        return true;
    }
    if (errno != ENOENT) {
        throw_errno("read the project quota");
    }
    return false;
}

fsxattr attributes(int fd)
{
    fsxattr found{};
    if (::ioctl(fd, FS_IOC_FSGETXATTR, &found) != 0) {
        throw_errno("read the project of a file");
    }
    return found;
}

class LinuxProjects final : public ProjectKernel {
  public:
    [[nodiscard]] std::string obstacle(int fd) override
    {
        fs_quota_stat state{};
        // ext4 and XFS answer this the same way. It needs no rights.
        if (sys::quotactl_fd(fd, of_projects(Q_XGETQSTAT), 0, &state) != 0) {
            return "this kernel keeps no project quota on the file system of the state directory "
                   "(" +
                   std::generic_category().message(errno) + ")";
        }
        // Counted without this, and told by statfs(2), but not kept.
        return (state.qs_flags & FS_QUOTA_PDQ_ENFD) == 0
                   ? "the file system of the state directory is mounted without prjquota"
                   : "";
    }

    [[nodiscard]] ProjectMark mark(int fd) override
    {
        const auto found = attributes(fd);
        return {.id = found.fsx_projid,
                .inherited = (found.fsx_xflags & FS_XFLAG_PROJINHERIT) != 0};
    }

    // A command owns the files of its home, and could let them count for no project but for this:
    // from inside of a user namespace the kernel changes neither (fileattr_set_prepare(): EINVAL,
    // for FS_IOC_FSSETXATTR and FS_IOC_SETFLAGS alike). The server is outside of it.
    void set_mark(int fd, const ProjectMark& mark) override
    {
        auto wanted = attributes(fd);
        wanted.fsx_projid = mark.id;
        wanted.fsx_xflags &= ~static_cast<std::uint32_t>(FS_XFLAG_PROJINHERIT);
        wanted.fsx_xflags |= mark.inherited ? FS_XFLAG_PROJINHERIT : 0U;
        if (::ioctl(fd, FS_IOC_FSSETXATTR, &wanted) != 0) {
            throw_errno("set the project of a file");
        }
    }

    [[nodiscard]] bool is_unused(int fd, std::uint32_t id) override
    {
        if_dqblk quota{};
        return !read_quota(fd, id, quota) || (quota.dqb_curinodes == 0 && quota.dqb_curspace == 0);
    }

    [[nodiscard]] std::uint64_t limit(int fd, std::uint32_t id) override
    {
        if_dqblk quota{};
        return read_quota(fd, id, quota) ? quota.dqb_bhardlimit * quota_block : 0;
    }

    void set_limit(int fd, std::uint32_t id, std::uint64_t bytes) override
    {
        if_dqblk quota{};
        quota.dqb_bhardlimit = bytes / quota_block;
        quota.dqb_valid = QIF_BLIMITS;
        if (sys::quotactl_fd(fd, of_projects(Q_SETQUOTA), id, &quota) != 0) {
            throw_errno("set the project quota");
        }
    }
};

} // namespace

ProjectKernel& linux_projects()
{
    static LinuxProjects projects;
    return projects;
}

} // namespace berth::local
