#include "sandbox/local/launcher/guest_mounts.hpp"

#include "sandbox/local/failure.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "mounts";

UniqueFd open_here(const std::string& path, int flags)
{
    UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC));
    require(file.valid(), step, "open " + path);
    return file;
}

std::vector<gid_t> own_groups()
{
    std::vector<gid_t> groups(static_cast<std::size_t>(::getgroups(0, nullptr)));
    require(::getgroups(static_cast<int>(groups.size()), groups.data()) >= 0, step, "getgroups");
    return groups;
}

/// Of this process of one thread, for as long as it lives: whose files it makes, and with whose
/// rights. The kernel takes away with it what root may do to everybody's files, and gives it back;
/// what its groups may do it leaves.
class FilesOf {
  public:
    FilesOf(uid_t uid, gid_t gid)
        : groups_(own_groups()), uid_(::setfsuid(no_change)), gid_(::setfsgid(no_change))
    {
        require(::setgroups(0, nullptr) == 0, step, "setgroups");
        ::setfsgid(gid);
        ::setfsuid(uid);
    }

    ~FilesOf()
    {
        ::setfsuid(static_cast<uid_t>(uid_));
        ::setfsgid(static_cast<gid_t>(gid_));
        (void)::setgroups(groups_.size(), groups_.data()); // fails for want of memory alone
    }

    FilesOf(const FilesOf&) = delete;
    FilesOf& operator=(const FilesOf&) = delete;

    /// These calls tell of no failure.
    static void require_to_be(uid_t uid, gid_t gid)
    {
        require(static_cast<uid_t>(::setfsuid(no_change)) == uid &&
                    static_cast<gid_t>(::setfsgid(no_change)) == gid,
                step, "make files as the session's user");
    }

  private:
    static constexpr uid_t no_change = static_cast<uid_t>(-1);

    const std::vector<gid_t> groups_;
    const int uid_;
    const int gid_;
};

} // namespace

// By the number: nobody but this process waits for its child.
GuestMounts::GuestMounts(pid_t guest)
    : theirs_(open_here("/proc/" + std::to_string(guest) + "/ns/mnt", O_RDONLY)),
      own_(open_here("/proc/self/ns/mnt", O_RDONLY)),
      own_root_(open_here("/", O_PATH | O_DIRECTORY)),
      own_directory_(open_here(".", O_PATH | O_DIRECTORY))
{
}

void GuestMounts::come_back() const noexcept
{
    // That of the namespace need not be the one that this process was given.
    if (::setns(own_.get(), CLONE_NEWNS) != 0 || ::fchdir(own_root_.get()) != 0 ||
        ::chroot(".") != 0 || ::fchdir(own_directory_.get()) != 0) {
        ::_exit(1);
    }
}

void GuestMounts::visit(const std::function<void(const Root&)>& work) const
{
    require(::setns(theirs_.get(), CLONE_NEWNS) == 0, step, "enter the sandbox's mounts");

    struct Return {
        const GuestMounts& from;

        ~Return() { from.come_back(); }
    } const back{*this};

    work(Root::entered(open_here("/", O_PATH | O_DIRECTORY)));
}

void GuestMounts::attach(const std::vector<Tree>& trees, const LaunchSpec& spec) const
{
    visit([&](const Root& root) {
        const FilesOf session(spec.host_uid, spec.host_gid);
        FilesOf::require_to_be(spec.host_uid, spec.host_gid);
        root.attach_all(trees, spec.binds);
    });
}

} // namespace berth::local
