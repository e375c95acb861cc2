// That a machine's namespaces are its own, and that no descriptor of the guest leads out of them.

#include "sandbox/local/local_machine.hpp"
#include "tests/unit/local/host_cgroups.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

namespace {

/// The kinds of namespaces, with the layers that tell of them.
const std::map<std::string, std::string>& kinds()
{
    static const std::map<std::string, std::string> all{
        {"user", "userns"}, {"mnt", "mountns"}, {"pid", "pidns"},      {"net", "netns"},
        {"ipc", "ipcns"},   {"uts", "utsns"},   {"cgroup", "cgroupns"}};
    return all;
}

std::string link_target(const std::string& path)
{
    std::error_code none;
    return std::filesystem::read_symlink(path, none).string();
}

void compare_namespaces(Bench& bench, const sandbox::Machine& machine,
                        const std::set<std::string>& shared)
{
    for (const auto& [kind, layer] : kinds()) {
        CAPTURE(kind);
        const std::string link = "/proc/self/ns/" + kind;
        const std::string inside = bench.run("readlink " + link);
        CHECK(inside.starts_with(kind + ":["));
        CHECK((inside == link_target(link) + "\n") == shared.contains(kind));
        CHECK(in_force(machine, layer) != shared.contains(kind));
    }
}

/// The numbers of the mounts of this process.
std::set<std::string> own_mounts()
{
    std::set<std::string> found;
    std::istringstream lines(read_text("/proc/self/mountinfo"));
    for (std::string line; std::getline(lines, line);) {
        found.insert(line.substr(0, line.find(' ')));
    }
    return found;
}

/// The number of the mount that a descriptor is on.
std::string mount_of(const std::string& fdinfo)
{
    std::istringstream lines(read_text(fdinfo));
    for (std::string name, value; lines >> name >> value;) {
        if (name == "mnt_id:") {
            return value;
        }
    }
    return {};
}

/// A file of a cgroup, or /dev/null: nothing can be reached from these.
bool leads_nowhere(const std::string& path)
{
    struct stat status{};
    struct statfs system{};
    if (::stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) {
        return false;
    }
    if (S_ISCHR(status.st_mode)) {
        return status.st_rdev == makedev(1, 3);
    }
    return S_ISREG(status.st_mode) && ::statfs(path.c_str(), &system) == 0 &&
           (system.f_type == CGROUP_SUPER_MAGIC || system.f_type == CGROUP2_SUPER_MAGIC);
}

/// Where a guest notes why it ends itself: a file, of which it has nothing but the writing.
bool is_parting_note(const std::string& descriptor, const std::string& fdinfo)
{
    std::istringstream lines(read_text(fdinfo));
    std::string flags;
    for (std::string name, value; lines >> name >> value;) {
        flags = name == "flags:" ? value : flags;
    }
    struct stat status{};
    return link_target(descriptor).ends_with("/parting") &&
           ::stat(descriptor.c_str(), &status) == 0 && S_ISREG(status.st_mode) && !flags.empty() &&
           (std::stoul(flags, nullptr, 8) & O_ACCMODE) == O_WRONLY;
}

void look_at_descriptors(pid_t guest)
{
    const std::string process = "/proc/" + std::to_string(guest);
    const auto host = own_mounts();
    std::size_t seen = 0;
    for (const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
        const std::string descriptor = entry.path();
        const auto info = process + "/fdinfo/" + entry.path().filename().string();
        const auto mount = mount_of(info);
        if (link_target(descriptor).empty()) {
            continue; // closed since: the guest has just come
        }
        CAPTURE(descriptor);
        CAPTURE(link_target(descriptor));
        CHECK_FALSE(mount.empty());
        CHECK((!host.contains(mount) || leads_nowhere(descriptor) ||
               is_parting_note(descriptor, info)));
        ++seen;
    }
    CHECK(seen > 3);
    for (const char* link : {"/root", "/cwd"}) {
        CAPTURE(link);
        const UniqueFd place(::open((process + link).c_str(), O_PATH | O_CLOEXEC));
        CHECK(place.valid());
        CHECK_FALSE(host.contains(mount_of("/proc/self/fdinfo/" + std::to_string(place.get()))));
    }
}

} // namespace

TEST_CASE("a machine has namespaces of its own, and says which")
{
    Bench bench;
    auto spec = Bench::spec();
    std::set<std::string> shared;
    const auto& machine = bench.make(spec);
    if (!in_force(machine, "cgroupns")) {
        CHECK(host_delegates_by_namespace()); // else there is no reason to go without
        shared.insert("cgroup");
    }
    compare_namespaces(bench, machine, shared);
    bench.destroy();
    spec.network = sandbox::Network::host;
    shared.insert("net");
    compare_namespaces(bench, bench.make(spec), shared);
}

TEST_CASE("inside of a cgroup namespace no cgroups but the session's own have names")
{
    Bench bench;
    if (!in_force(bench.make(), "cgroupns")) {
        return;
    }
    std::istringstream lines(bench.run("cat /proc/self/cgroup"));
    std::size_t seen = 0;
    for (std::string line; std::getline(lines, line); ++seen) {
        const std::string path = line.substr(line.find(':', line.find(':') + 1) + 1);
        CAPTURE(line);
        const bool own = path.find("/berth/") != std::string::npos || path.find("/cmds") == 0 ||
                         path.find("/../cmds") == 0;
        CHECK((path == "/" || own));
    }
    CHECK(seen > 0);
}

TEST_CASE("no descriptor of the guest leads to a mount of the host")
{
    if (!is_root()) {
        return; // the guest is not dumpable: root looks at the machine of an ordinary user below
    }
    Bench bench;
    const std::string source = bench.directory() + "/project";
    REQUIRE(::mkdir(source.c_str(), 0755) == 0);
    auto spec = Bench::spec();
    spec.mounts = {{source, "/home/user/w", true}, {source, "/mnt/r", false}};
    look_at_descriptors(local::facts_from(bench.make(spec).record()).pid);
    bench.destroy();

    const auto backend = backend_with_guest(bench);
    const auto machine = backend->create(spec);
    const auto connection = machine->connect(Deadline::after(std::chrono::seconds(30)));
    look_at_descriptors(local::facts_from(machine->record()).pid);
    backend->destroy(machine->record(), true);
}

TEST_CASE("nor does one of the guest of an ordinary user")
{
    if (!is_root()) {
        return;
    }
    Bench bench;
    constexpr uid_t nobody = 65534;
    REQUIRE(::chown(bench.directory().c_str(), nobody, nobody) == 0);
    const auto spec = Bench::spec();
    const auto as_user = [&](const auto& work) {
        return told_by_child([&] {
            return become_ordinary_user() ? work(*backend_with_guest(bench)) : "still root";
        });
    };
    const auto pid = as_user([&](sandbox::Backend& backend) {
        return std::to_string(local::facts_from(backend.create(spec)->record()).pid);
    });
    CAPTURE(pid);
    REQUIRE(pid.find_first_not_of("0123456789") == std::string::npos);
    look_at_descriptors(std::stoi(pid));
    CHECK(as_user([&](sandbox::Backend& backend) {
              backend.destroy({.data = {{"key_hash", spec.key_hash}}}, true);
              return std::string("destroyed");
          }) == "destroyed");
}
