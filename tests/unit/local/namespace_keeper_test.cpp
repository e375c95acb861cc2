// The namespaces that a waiting launcher makes ahead: who gets them, and when they go.

#include "sandbox/base/error.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/local/destroy.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/local/runtime_folder.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/local/host_cgroups.hpp"
#include "tests/unit/local/machine_fixture.hpp"
#include "tests/unit/local/made_ahead.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;
using namespace berth::local::test;

namespace {

using Namespaces = std::map<std::string, std::string>;

Namespaces namespaces_of(pid_t pid)
{
    Namespaces found;
    for (const char* kind : {"user", "net", "ipc", "uts"}) {
        const auto path = "/proc/" + std::to_string(pid) + "/ns/" + kind;
        found[kind] = std::filesystem::read_symlink(path).string();
    }
    return found;
}

pid_t guest_of(const sandbox::Machine& machine)
{
    return facts_from(machine.record()).pid;
}

/// What the cgroups that it is in are called; empty: it has a machine's own name.
std::string slot_of(pid_t pid)
{
    const auto cgroups = read_text("/proc/" + std::to_string(pid) + "/cgroup");
    const auto begin = cgroups.find("/berth/ahead");
    if (begin == std::string::npos) {
        return "";
    }
    const auto name = cgroups.substr(begin + std::string("/berth/").size());
    return name.substr(0, name.find('/'));
}

/// In how many hierarchies there is one of that name.
std::size_t count_of(const std::string& slot)
{
    std::size_t count = 0;
    for (const auto& path : session_cgroups(find_cgroups("", true), slot)) {
        count += exists(path) ? 1U : 0U;
    }
    return count;
}

/// The socket of that guest-to-be, beside those of machines.
std::string socket_of(const std::string& slot, const sandbox::Machine& machine)
{
    const auto path = facts_from(machine.record()).socket_path;
    return socket_in(path.substr(0, path.rfind('/')), slot);
}

/// 0: it is not there.
ino_t number_of(const std::string& path)
{
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// A backend that has made a machine, so that launchers wait.
struct Server {
    Server() : backend(backend_with_guest(bench)) { first = backend->create(Bench::spec("first")); }

    ~Server() { end(*first); }

    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    void end(sandbox::Machine& machine) const { backend->destroy(machine.record(), true); }

    Bench bench;
    std::unique_ptr<sandbox::Backend> backend;
    std::unique_ptr<sandbox::Machine> first;
};

} // namespace

TEST_CASE("a machine has the namespaces that were made ahead, and no other has them")
{
    if (!makes_ahead()) {
        return; // an ordinary user's are made when they are asked for
    }
    const Server server;
    const pid_t ahead = ready_keeper(server.bench);
    const auto expected = namespaces_of(ahead);
    CHECK(expected != namespaces_of(guest_of(*server.first)));
    const auto machine = server.backend->create(Bench::spec("second"));
    const pid_t guest = guest_of(*machine);
    CHECK(namespaces_of(guest) == expected);
    CHECK(tests::becomes_true([&] { return !exists("/proc/" + std::to_string(ahead)); }));
    const auto other = server.backend->create(Bench::spec("third"));
    for (const auto& [kind, name] : namespaces_of(guest_of(*other))) {
        CAPTURE(kind);
        CHECK(name != expected.at(kind));
    }
    server.end(*other);
    server.end(*machine);
}

TEST_CASE("what was made ahead is the machine's own, and as its spec wants it")
{
    if (!makes_ahead()) {
        return;
    }
    const Server server;
    const auto told = [&](const std::string& session, std::uint64_t memory) {
        auto spec = Bench::spec(session);
        spec.limits.memory = memory;
        const auto machine = server.backend->create(spec);
        const auto process = "/proc/" + std::to_string(guest_of(*machine));
        const auto uid = field(guest_of(*machine), "Uid");
        for (const char* path : {"/root/dev/shm", "/root/dev/pts/ptmx"}) {
            struct stat status{};
            REQUIRE(::stat((process + path).c_str(), &status) == 0);
            CHECK(uid.starts_with(std::to_string(status.st_uid) + "\t"));
        }
        auto mounts = read_text(process + "/mountinfo");
        server.end(*machine);
        return mounts;
    };
    (void)ready_keeper(server.bench);
    (void)told("second", 512UL << 20U); // nothing was made for that
    (void)ready_keeper(server.bench);
    const auto mounts = told("third", 512UL << 20U);
    CHECK(mounts.find("size=262144k") != std::string::npos);
    // The kernel lets one proc be made only beside another, which is the host's and must not stay.
    const auto procs = [&](const std::string& of) { return mounts.find(of) != std::string::npos; };
    CHECK(procs(" /proc "));
    CHECK_FALSE(procs(" /mnt "));
    CHECK(procs(" /proc/kmsg "));
}

TEST_CASE("who waits to be told whose guest it is waits under the filter, and may mount nothing")
{
    if (!makes_ahead()) {
        return;
    }
    const Server server;
    (void)ready_keeper(server.bench);
    constexpr const char* by_a_filter = "2"; // proc(5)
    CHECK(field(next_guest(), "Seccomp") == by_a_filter);
    CHECK(field(keeper(), "Seccomp") != by_a_filter);
    const auto machine = server.backend->create(Bench::spec("second"));
    CHECK(field(guest_of(*machine), "Seccomp_filters") == "1"); // Linux 5.9; and not another one
    server.end(*machine);
}

TEST_CASE("what is mounted in what was made ahead is put there by the session's user")
{
    if (!makes_ahead() || !host_has_cgroup2()) {
        return;
    }
    constexpr gid_t group = 4242;
    REQUIRE(::setgroups(1, &group) == 0); // of root's, who needs none
    const Server server;
    const auto source = server.bench.directory() + "/project";
    const auto other = server.bench.directory() + "/other";
    REQUIRE(::mkdir(source.c_str(), 0755) == 0);
    REQUIRE(::mkdir(other.c_str(), 0755) == 0);
    write_text(other + "/file", "content");
    auto spec = Bench::spec("second");
    const auto made_ahead_for = [&] {
        const auto expected = namespaces_of(ready_keeper(server.bench));
        auto machine = server.backend->create(spec);
        CHECK(namespaces_of(guest_of(*machine)) == expected);
        return machine;
    };
    const auto told = [&]() -> std::string {
        try {
            server.end(*server.backend->create(spec));
            return "";
        } catch (const Error& error) {
            return error.what();
        }
    };
    SUBCASE("in the home, and in a folder with another owner")
    {
        spec.mounts = {{source, "/home/user/new/in", false},
                       {source, "/home/user/w", true},
                       {other, "/home/user/w/below", false}};
        const auto machine = made_ahead_for();
        const auto root = "/proc/" + std::to_string(guest_of(*machine)) + "/root/home/user";
        struct stat home{};
        struct stat made{};
        REQUIRE(::stat(root.c_str(), &home) == 0);
        REQUIRE(::stat((root + "/new").c_str(), &made) == 0);
        CHECK(made.st_uid == home.st_uid);
        CHECK(made.st_gid == home.st_gid);
        REQUIRE(::stat((source + "/below").c_str(), &made) == 0);
        CHECK(made.st_uid == ::geteuid()); // whose the folder is
        CHECK(exists(root + "/w/below/file"));
        server.end(*machine);
    }
    SUBCASE("and nowhere else, by no link that is left in the home")
    {
        const auto before = made_ahead_for();
        const auto root = "/proc/" + std::to_string(guest_of(*before)) + "/root/home/user";
        REQUIRE(::symlink("/var/tmp", (root + "/way").c_str()) == 0);
        server.backend->destroy(before->record(), false);
        spec.mounts = {{source, "/home/user/way/in", false}};
        (void)ready_keeper(server.bench);
        const auto slot = slot_of(next_guest());
        const auto socket = socket_of(slot, *server.first);
        CHECK(told().find("/home/user/way is a symbolic link") != std::string::npos);
        CHECK_FALSE(exists("/var/tmp/in"));
        // The launcher was in the sandbox's mounts, and has cleared up in the host's.
        CHECK(tests::becomes_true([&] { return count_of(slot) == 0 && number_of(socket) == 0; }));
        spec.mounts.clear();
        server.end(*server.backend->create(spec));
    }
    SUBCASE("and where no group of root's helps, as in what was not made ahead")
    {
        const auto closed = source + "/closed";
        REQUIRE(::mkdir(closed.c_str(), 0750) == 0);
        REQUIRE(::mkdir((closed + "/place").c_str(), 0755) == 0);
        REQUIRE(::chown(closed.c_str(), 0, group) == 0);
        spec.mounts = {{source, "/home/user/p", false},
                       {other, "/home/user/p/closed/place", false}};
        (void)ready_keeper(server.bench);
        CHECK(told().find("Permission denied") != std::string::npos);
        (void)ready_keeper(server.bench);
        ::kill(next_guest(), SIGKILL);
        CHECK(told().find("Permission denied") != std::string::npos);
    }
}

TEST_CASE("a machine with another network does not get what was made ahead")
{
    if (!makes_ahead()) {
        return;
    }
    const Server server;
    const auto expected = namespaces_of(ready_keeper(server.bench));
    auto spec = Bench::spec("second");
    spec.network = sandbox::Network::host;
    const auto machine = server.backend->create(spec);
    const auto found = namespaces_of(guest_of(*machine));
    CHECK(found.at("net") == namespaces_of(::getpid()).at("net"));
    CHECK(found.at("user") != expected.at("user"));
    server.end(*machine);
}

TEST_CASE("a machine is made without what was killed, and with what was stopped")
{
    if (!makes_ahead()) {
        return;
    }
    for (const auto which : {keeper, next_guest}) {
        for (const int signal : {SIGKILL, SIGSTOP}) {
            CAPTURE((which == keeper));
            CAPTURE(signal);
            const Server server;
            const pid_t ahead = ready_keeper(server.bench);
            const auto expected = namespaces_of(ahead);
            const bool needed = which == next_guest && signal == SIGKILL;
            ::kill(which(), signal);
            if (signal == SIGKILL) {
                REQUIRE(tests::becomes_true([&] { return which() < 0; }));
            }
            const auto machine = server.backend->create(Bench::spec("second"));
            CHECK(machine->connect(Deadline::after(std::chrono::seconds(30))) != nullptr);
            CHECK((namespaces_of(guest_of(*machine)) == expected) == !needed);
            CHECK(tests::becomes_true([&] { return !exists("/proc/" + std::to_string(ahead)); }));
            server.end(*machine);
        }
    }
}

TEST_CASE("a socket and cgroups go with what was made ahead, or become the machine's")
{
    if (!makes_ahead() || !host_has_cgroup2()) {
        return;
    }
    const Server server;
    const pid_t launcher = static_cast<pid_t>(std::stoi(field(ready_keeper(server.bench), "PPid")));
    const auto made = slot_of(next_guest());
    REQUIRE(count_of(made) > 0);
    const auto socket = socket_of(made, *server.first);
    const auto number = number_of(socket);
    REQUIRE(number != 0);
    SUBCASE("whoever clears up leaves those that wait")
    {
        server.backend->collect(Deadline::after(std::chrono::seconds(10)));
        const auto machine = server.backend->create(Bench::spec("second"));
        CHECK(slot_of(guest_of(*machine)) == made);
        CHECK(number_of(facts_from(machine->record()).socket_path) == number);
        CHECK(number_of(socket) == 0);
        server.backend->collect(Deadline::after(std::chrono::seconds(10)));
        CHECK(count_of(made) == session_cgroups(find_cgroups("", true), made).size());
        server.end(*machine);
        CHECK(count_of(made) == 0);
    }
    SUBCASE("with other limits")
    {
        auto spec = Bench::spec("second");
        spec.limits.pids = 77;
        spec.limits.memory *= 2;
        const auto machine = server.backend->create(spec);
        CHECK(slot_of(guest_of(*machine)) == made);
        std::string limit;
        for (const auto& path : session_cgroups(find_cgroups("", true), made)) {
            for (const char* file : {"pids.max", "memory.max", "memory.limit_in_bytes"}) {
                limit += read_text(path + "/cmds/" + file);
            }
        }
        CHECK(limit.find("77\n") != std::string::npos);
        CHECK(limit.find(std::to_string(spec.limits.memory) + "\n") != std::string::npos);
        server.end(*machine);
        CHECK(count_of(made) == 0);
    }
    SUBCASE("of a launcher that was killed, by whoever clears up")
    {
        ::kill(launcher, SIGKILL);
        REQUIRE(tests::becomes_true([] { return next_guest() < 0; }));
        REQUIRE(tests::becomes_true([&] {
            server.backend->collect(Deadline::after(std::chrono::seconds(10)));
            return count_of(made) == 0 && number_of(socket) == 0;
        }));
    }
    SUBCASE("of a machine that nobody has recorded")
    {
        const auto machine = server.backend->create(Bench::spec("second"));
        sandbox::MachineRecord lost;
        lost.backend = "local";
        lost.data["key_hash"] = Bench::spec("second").key_hash;
        CHECK_FALSE(server.backend->is_gone(lost));
        server.backend->destroy(lost, true);
        CHECK(server.backend->is_gone(lost));
        CHECK(count_of(made) == 0);
    }
    SUBCASE("of a machine of another network")
    {
        auto spec = Bench::spec("second");
        spec.network = sandbox::Network::host;
        const auto machine = server.backend->create(spec);
        CHECK(machine->connect(Deadline::after(std::chrono::seconds(30))) != nullptr);
        CHECK(number_of(socket) == 0);
        server.end(*machine);
    }
}

TEST_CASE("a keeper ends with its launcher, and once a mount of the host comes")
{
    if (!makes_ahead()) {
        return;
    }
    const Server server;
    const pid_t with_launcher = ready_keeper(server.bench);
    ::kill(static_cast<pid_t>(std::stoi(field(with_launcher, "PPid"))), SIGKILL);
    CHECK(tests::becomes_true([&] { return !exists("/proc/" + std::to_string(with_launcher)); }));
    server.end(*server.backend->create(Bench::spec("second"))); // after which another one waits
    const pid_t with_mounts = ready_keeper(server.bench);
    const std::string place = server.bench.directory() + "/place";
    REQUIRE(::mkdir(place.c_str(), 0755) == 0);
    REQUIRE(::mount("none", place.c_str(), "tmpfs", 0, nullptr) == 0);
    CHECK(tests::becomes_true([&] { return !exists("/proc/" + std::to_string(with_mounts)); }));
    CHECK(::umount(place.c_str()) == 0);
}

TEST_CASE("nothing is made ahead where the kernel goes by another proc than /proc")
{
    if (!makes_ahead()) {
        return;
    }
    const auto told = told_by_child([] {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("proc", "/mnt", "proc", 0, nullptr) != 0 ||
            ::mount("/dev/null", "/proc/version", nullptr, MS_BIND, nullptr) != 0) {
            return std::string("no mounts of its own");
        }
        const Server server;
        if (!tests::becomes_true(launcher_waits)) {
            return std::string("no launcher that waits");
        }
        const auto machine = server.backend->create(Bench::spec("second"));
        const bool made = machine->connect(Deadline::after(std::chrono::seconds(30))) != nullptr;
        server.end(*machine);
        return std::string(made ? "made" : "not made");
    });
    CHECK(told == "made");
}
