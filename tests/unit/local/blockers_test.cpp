#include "sandbox/local/blockers.hpp"
#include "tests/unit/local/failed_step.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <cerrno>

using namespace berth::local;
using berth::local::test::failed;
using berth::local::test::TemporaryTree;

TEST_CASE("a closed limit is named with the line that opens it")
{
    const TemporaryTree host;
    host.add("proc/sys/user/max_user_namespaces", "0\n");
    const auto blocker = explain(failed("namespaces", ENOSPC), host.path());
    CHECK(blocker.reason.find("max_user_namespaces is 0") != std::string::npos);
    CHECK(blocker.remedy == "as root: sysctl -w user.max_user_namespaces=15000");
}

TEST_CASE("a chroot is told apart from a container")
{
    const auto mounts = [](const TemporaryTree& host, const std::string& first) {
        host.add("proc/self/mountinfo",
                 "22 1 8:1 / " + first +
                     " rw - ext4 /dev/a rw\n23 22 0:5 / /proc rw - proc proc rw\n");
    };
    const TemporaryTree folder;
    mounts(folder, "/home");
    CHECK(explain(failed("namespaces", EPERM), folder.path()).reason.find("in a chroot") !=
          std::string::npos);
    const TemporaryTree container;
    mounts(container, "/");
    CHECK(explain(failed("namespaces", EPERM), container.path()).reason.find("seccomp") !=
          std::string::npos);
    // The first process has the same mounts and another root.
    const TemporaryTree mount_point;
    mounts(mount_point, "/");
    for (const char* name : {"proc/1/root", "proc/self/root", "proc/self/ns", "proc/1/ns"}) {
        mount_point.add_directory(name);
    }
    mount_point.add("proc/self/ns/mnt", "");
    std::filesystem::create_hard_link(mount_point.path() + "/proc/self/ns/mnt",
                                      mount_point.path() + "/proc/1/ns/mnt");
    CHECK(explain(failed("namespaces", EPERM), mount_point.path()).reason.find("in a chroot") !=
          std::string::npos);
}

TEST_CASE("restrictions of distributions are told apart")
{
    const TemporaryTree debian;
    debian.add("proc/sys/kernel/unprivileged_userns_clone", "0\n");
    CHECK(explain(failed("namespaces", EPERM), debian.path()).remedy ==
          "as root: sysctl -w kernel.unprivileged_userns_clone=1");
    const TemporaryTree ubuntu;
    ubuntu.add("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    // There the namespace can be made, but mounting in it is refused.
    CHECK(explain(failed("mounts", EACCES), ubuntu.path()).remedy ==
          "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
}

TEST_CASE("a container is told by what it refuses")
{
    const TemporaryTree host;
    host.add("proc/sys/user/max_user_namespaces", "1000\n");
    CHECK(explain(failed("namespaces", EPERM), host.path()).remedy.find("seccomp=unconfined") !=
          std::string::npos);
    const auto masked = explain(failed("proc", EPERM), host.path());
    CHECK(masked.remedy == "docker run --security-opt systempaths=unconfined ...");
    CHECK(masked.reason.find("did it: Operation not permitted") != std::string::npos);
}

TEST_CASE("a program that was installed for root alone is no fault of the kernel")
{
    const TemporaryTree host;
    host.add("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    const auto blocker = explain(failed("guest", EACCES), host.path());
    CHECK(blocker.reason ==
          "the session's user may not run the guest's program (did it: Permission denied)");
    CHECK(blocker.remedy.find("chmod a+rx") != std::string::npos);
}

TEST_CASE("what is in a mount's way is no fault of the host's kernel")
{
    const TemporaryTree host;
    host.add("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    const auto in_home = explain(failed("home", 0), host.path(), "mine");
    CHECK(in_home.reason == "did it");
    CHECK(in_home.remedy.find("`berth sessions kill mine --purge`") != std::string::npos);
    CHECK(explain(failed("home", 0), host.path()).remedy.find("kill KEY") != std::string::npos);
    const auto on_host = explain(failed("target", 0), host.path(), "mine");
    CHECK(on_host.remedy.find("on the host") != std::string::npos);
    CHECK(on_host.remedy.find("--purge") == std::string::npos);
}

TEST_CASE("a limit of the host is no fault of its kernel, programs or disks")
{
    const TemporaryTree host;
    for (const char* step : {"namespaces", "identity", "launcher"}) {
        const auto blocker = explain(failed(step, EAGAIN), host.path());
        CHECK(blocker.reason.find("as many processes as it may have (did it") != std::string::npos);
        CHECK(blocker.remedy.find("ulimit -u") != std::string::npos);
        CHECK(blocker.remedy.find("TasksMax") != std::string::npos);
    }
    CHECK(explain(failed("cgroup", EAGAIN), host.path()).remedy.empty());
    for (const char* step : {"launcher", "mounts", "cgroup", "server"}) {
        CHECK(explain(failed(step, EMFILE), host.path()).remedy.find("ulimit -n") !=
              std::string::npos);
    }
    CHECK(explain(failed("launch", ENFILE), host.path()).remedy.find("fs.file-max") !=
          std::string::npos);
}

TEST_CASE("nobody is told to run as the user who runs already")
{
    const TemporaryTree host;
    CHECK(explain(failed("idmap", EINVAL), host.path()).remedy.find("folder's owner") !=
          std::string::npos);
    const auto of_root = explain(failed("idmap of root", EINVAL), host.path());
    CHECK(of_root.reason.find("cannot map ids") != std::string::npos);
    CHECK(of_root.remedy.find("folder's owner") == std::string::npos);
    CHECK(of_root.remedy.find("ext4") != std::string::npos);
}

TEST_CASE("what is refused to the server or launcher itself is not laid on namespaces")
{
    const TemporaryTree host;
    for (const char* step : {"server", "launch", "cgroup", "socket"}) {
        CAPTURE(step);
        CHECK(explain(failed(step, EACCES), host.path()).reason == "did it: Permission denied");
    }
    CHECK(explain(failed("mounts", EACCES), host.path()).reason.find("user namespaces") !=
          std::string::npos);
}

TEST_CASE("what the kernel said is told once")
{
    const TemporaryTree host;
    auto result = failed("launch", EINVAL);
    result.text = "receive: Invalid argument";
    CHECK(explain(result, host.path()).reason == "receive: Invalid argument");
}

TEST_CASE("a launcher that somebody has killed is no fault of the host's settings")
{
    const TemporaryTree host;
    const auto blocker = explain(failed(step_killed, 0), host.path());
    CHECK(blocker.remedy.find("the next one makes the sandbox anew") != std::string::npos);
    CHECK(blocker.remedy.find("berth sessions kill") != std::string::npos);
}

TEST_CASE("what nobody knows is at least told")
{
    const TemporaryTree host;
    const auto blocker = explain(failed("launcher", 0), host.path());
    CHECK(blocker.reason == "did it");
    CHECK(blocker.remedy.empty());
}
