#include "sandbox/local/blockers.hpp"
#include "sandbox/local/own_proc.hpp"
#include "tests/unit/local/failed_step.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include <unistd.h>

using namespace berth::local;
using berth::local::test::failed;
using berth::local::test::TemporaryTree;

namespace {

std::string reason(const std::string& step, int error, const TemporaryTree& host)
{
    return explain(failed(step, error), host.path()).reason;
}

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

/// A /proc that shows this process as `number`.
void add_proc(const TemporaryTree& host, long number)
{
    const auto name = std::to_string(number);
    host.add("proc/uptime", "1.0 1.0\n");
    host.add_directory("proc/" + name);
    std::filesystem::create_symlink(name, host.path() + "/proc/self");
}

void add_status(const TemporaryTree& host, const std::string& ids, const std::string& capabilities)
{
    host.add("proc/self/status",
             "Name:\tberth\nUid:\t" + ids + "\nGid:\t" + ids + "\nCapEff:\t" + capabilities + "\n");
}

} // namespace

TEST_CASE("whose /proc is mounted is told by the number that it gives this process")
{
    const TemporaryTree host;
    CHECK(look_at_proc(host.path()) == OwnProc::missing);
    host.add("proc/uptime", "1.0 1.0\n");
    CHECK(look_at_proc(host.path()) == OwnProc::foreign);
    const TemporaryTree own;
    add_proc(own, ::getpid());
    CHECK(look_at_proc(own.path()) == OwnProc::ours);
    const TemporaryTree other;
    add_proc(other, ::getpid() + 1);
    CHECK(look_at_proc(other.path()) == OwnProc::foreign);
    CHECK(look_at_proc() == OwnProc::ours);
}

TEST_CASE("a /proc that is missing, or another PID namespace's, is what is named")
{
    const TemporaryTree none;
    CHECK(has(reason("launcher", ENOENT, none), "no /proc is mounted here"));
    const TemporaryTree other;
    add_proc(other, ::getpid() + 1);
    const auto blocker = explain(failed("identity", EPERM), other.path());
    CHECK(has(blocker.reason, "another PID namespace"));
    CHECK(has(blocker.remedy, "mount -t proc proc /proc"));
}

TEST_CASE("a /dev without its devices is named, and not for what has no need of them")
{
    const TemporaryTree host;
    add_proc(host, ::getpid());
    CHECK(has(reason("launcher", ENOENT, host), "/dev lacks null (did it"));
    for (const char* name : {"null", "zero", "full", "random"}) {
        host.add(std::string("dev/") + name, "");
    }
    CHECK(has(reason("mounts", ENOENT, host), "/dev lacks urandom, tty (did it"));
    CHECK(has(reason("launcher", ENOENT, host), "the launcher's program is missing"));
    CHECK(has(reason("guest", ENOENT, host), "the guest's program is missing"));
}

TEST_CASE("a root without CAP_SETFCAP is told of that, and another user is not")
{
    const TemporaryTree bare;
    add_status(bare, "0\t0\t0\t0", "0000000000000000");
    const auto blocker = explain(failed("identity", EPERM), bare.path());
    CHECK(has(blocker.reason, "root without CAP_SETFCAP"));
    CHECK(has(blocker.remedy, "another user than root"));
    CHECK(has(blocker.remedy, "--cap-add SETFCAP"));
    CHECK_FALSE(has(reason("namespaces", EPERM, bare), "CAP_SETFCAP"));
    const TemporaryTree able;
    add_status(able, "0\t0\t0\t0", "0000000080000000");
    CHECK_FALSE(has(reason("identity", EPERM, able), "CAP_SETFCAP"));
    const TemporaryTree user;
    add_status(user, "1000\t1000\t1000\t1000", "0000000000000000");
    CHECK_FALSE(has(reason("identity", EPERM, user), "CAP_SETFCAP"));
}

TEST_CASE("an id that the user namespace does not have is named")
{
    const auto told = [](const std::string& uids, const std::string& gids) {
        const TemporaryTree host;
        add_status(host, "65534\t65534\t65534\t65534", "0000000000000000");
        host.add("proc/self/uid_map", uids);
        host.add("proc/self/gid_map", gids);
        host.add("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/a rw\n");
        return reason("namespaces", EPERM, host);
    };
    const std::string whole = "0 0 4294967295\n";
    CHECK(has(told("", ""), "has no id in the user namespace"));
    CHECK(has(told(whole, "0 1000 1\n"), "has no id in the user namespace"));
    CHECK(has(told(whole, whole), "seccomp"));
}

TEST_CASE("realtime scheduling is named where a cgroup refuses it")
{
    const auto told = [](const std::string& policy) {
        const TemporaryTree host;
        // Fields 3 to 40 of proc_pid_stat(5), then the policy.
        std::string stat = "7 (a) b) R";
        for (int field = 4; field <= 40; ++field) {
            stat += " 0";
        }
        host.add("proc/self/stat", stat + ' ' + policy + " 0 0\n");
        return explain(failed("cgroup", EINVAL), host.path());
    };
    for (const char* policy : {"1", "2"}) {
        CHECK(has(told(policy).reason, "realtime scheduling policy"));
        CHECK(has(told(policy).remedy, "chrt -o 0"));
    }
    CHECK(told("0").reason == "did it: Invalid argument");
}
