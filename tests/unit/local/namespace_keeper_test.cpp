// The namespaces that a waiting launcher makes ahead: who gets them, and when they go.

#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/local_machine.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

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

std::string field(pid_t pid, const std::string& name)
{
    std::istringstream lines(read_text("/proc/" + std::to_string(pid) + "/status"));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name + ":\t")) {
            return line.substr(name.size() + 2);
        }
    }
    return "";
}

std::vector<pid_t> processes()
{
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") == std::string::npos) {
            found.push_back(static_cast<pid_t>(std::stoi(name)));
        }
    }
    return found;
}

/// That of this process's waiting launcher; -1: there is none that lives.
pid_t keeper()
{
    for (const pid_t pid : processes()) {
        const auto parent = field(pid, "PPid"); // empty where it has just ended
        if (field(pid, "Name") == "berth-ahead" && !parent.empty() &&
            !field(pid, "State").starts_with("Z") &&
            field(static_cast<pid_t>(std::stoi(parent)), "PPid") == std::to_string(::getpid())) {
            return pid;
        }
    }
    return -1;
}

/// Once it has made all that it makes: it has left the host's root then.
pid_t ready_keeper(const Bench& bench)
{
    pid_t found = -1;
    REQUIRE(tests::becomes_true([&] {
        found = keeper();
        const auto root = "/proc/" + std::to_string(found) + "/root";
        return found > 0 && exists(root + "/dev/pts/ptmx") && !exists(root + bench.directory()) &&
               field(found, "State").starts_with("S");
    }));
    return found;
}

/// That of this process has made ahead what it can: it polls for three things.
bool launcher_waits()
{
    for (const pid_t pid : processes()) {
        std::istringstream call(read_text("/proc/" + std::to_string(pid) + "/syscall"));
        std::string number;
        std::string things;
        std::string count;
        call >> number >> things >> count;
        if (field(pid, "Name") == "berth-launcher" &&
            field(pid, "PPid") == std::to_string(::getpid()) && count == "0x3") {
            return true;
        }
    }
    return false;
}

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
    if (!is_root()) {
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
    if (!is_root()) {
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
    const auto mounts = told("second", 512UL << 20U);
    CHECK(mounts.find("size=262144k") != std::string::npos);
    // The kernel lets one proc be made only beside another, which is the host's and must not stay.
    const auto procs = [&](const std::string& of) { return mounts.find(of) != std::string::npos; };
    CHECK(procs(" /proc "));
    CHECK_FALSE(procs(" /mnt "));
    CHECK(procs(" /proc/kmsg "));
}

TEST_CASE("a machine with another network does not get what was made ahead")
{
    if (!is_root()) {
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

TEST_CASE("a machine is made without a keeper that was killed or stopped")
{
    if (!is_root()) {
        return;
    }
    for (const int signal : {SIGKILL, SIGSTOP}) {
        CAPTURE(signal);
        const Server server;
        const pid_t ahead = ready_keeper(server.bench);
        const auto expected = namespaces_of(ahead);
        ::kill(ahead, signal);
        const auto machine = server.backend->create(Bench::spec("second"));
        CHECK(machine->connect(Deadline::after(std::chrono::seconds(30))) != nullptr);
        CHECK(namespaces_of(guest_of(*machine)).at("user") != expected.at("user"));
        CHECK(tests::becomes_true([&] { return !exists("/proc/" + std::to_string(ahead)); }));
        server.end(*machine);
    }
}

TEST_CASE("a keeper ends with its launcher, and once a mount of the host comes")
{
    if (!is_root()) {
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
    if (!is_root()) {
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
