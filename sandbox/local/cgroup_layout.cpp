#include "sandbox/local/cgroup_layout.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/local/cgroup_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace berth::local {
namespace {

struct Hierarchy {
    std::string mount_root;  ///< which cgroup the mount shows at its top
    std::string mount_point; ///< with the prefix of the tests
    std::string options;     ///< of v1 also the controllers
};

std::string read_text(const std::string& path)
{
    try {
        return read_file_limited(AT_FDCWD, path, 1UL << 20U);
    } catch (const std::exception&) {
        return {};
    }
}

bool has_word(std::string_view list, std::string_view word, char separator)
{
    while (!list.empty()) {
        const auto end = list.find(separator);
        if (list.substr(0, end) == word) {
            return true;
        }
        list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    }
    return false;
}

/// Key: "" for v2, else the v1 options ("rw,memory").
std::map<std::string, Hierarchy> mounted_hierarchies(const std::string& root)
{
    std::map<std::string, Hierarchy> found;
    std::istringstream lines(read_text(root + "/proc/self/mountinfo"));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string skip;
        Hierarchy hierarchy;
        words >> skip >> skip >> skip >> hierarchy.mount_root >> hierarchy.mount_point;
        const auto dash = line.find(" - ");
        if (dash == std::string::npos) {
            continue;
        }
        std::istringstream tail(line.substr(dash + 3));
        std::string type;
        tail >> type >> skip >> hierarchy.options;
        hierarchy.mount_point = root + hierarchy.mount_point;
        if (type == "cgroup2") {
            found.emplace("", hierarchy);
        } else if (type == "cgroup") {
            found.emplace(hierarchy.options, hierarchy);
        }
    }
    return found;
}

/// Key: "" for v2, else the controllers ("cpu,cpuacct"); value: the caller's cgroup.
std::map<std::string, std::string> own_cgroups(const std::string& root)
{
    std::map<std::string, std::string> found;
    std::istringstream lines(read_text(root + "/proc/self/cgroup"));
    for (std::string line; std::getline(lines, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first != std::string::npos && second != std::string::npos) {
            found[line.substr(first + 1, second - first - 1)] = line.substr(second + 1);
        }
    }
    return found;
}

bool is_writable_directory(const std::string& path)
{
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
           ::access(path.c_str(), W_OK) == 0;
}

/// The caller's own cgroup as a directory; the mount's top where the mount does not show it.
std::string own_directory(const Hierarchy& hierarchy, const std::string& own)
{
    std::string_view path = own;
    if (hierarchy.mount_root != "/") {
        if (!path.starts_with(hierarchy.mount_root)) {
            return hierarchy.mount_point;
        }
        path.remove_prefix(hierarchy.mount_root.size());
    }
    if (path.empty() || path == "/" || path.find("..") != std::string_view::npos) {
        return hierarchy.mount_point;
    }
    std::string directory = hierarchy.mount_point + std::string(path);
    struct stat status{};
    return ::stat(directory.c_str(), &status) == 0 ? directory : hierarchy.mount_point;
}

bool is_delegated(const std::string& directory)
{
    char value = 0;
    return (::getxattr(directory.c_str(), "user.delegate", &value, 1) == 1 && value == '1') ||
           (::getxattr(directory.c_str(), "trusted.delegate", &value, 1) == 1 && value == '1');
}

void find_v2(CgroupLayout& layout, const Hierarchy& hierarchy, const std::string& own,
             bool privileged)
{
    const std::string directory = own_directory(hierarchy, own);
    const std::string base =
        privileged && !is_delegated(directory) ? hierarchy.mount_point : directory;
    // As an ordinary user starting a process from the own cgroup into another needs write access to
    // what they have in common; the kernel asks for its cgroup.procs.
    if (!is_writable_directory(base) || ::access((base + "/cgroup.procs").c_str(), W_OK) != 0) {
        return;
    }
    layout.v2_base = base;
    layout.namespace_fits = !has_word(hierarchy.options, "nsdelegate", ',');
    const std::string controllers = read_text(base + "/cgroup.controllers");
    const std::string_view list(controllers.data(),
                                controllers.empty() ? 0 : controllers.find_last_not_of('\n') + 1);
    layout.v2_controllers =
        has_word(list, "memory", ' ') && has_word(list, "pids", ' ') && has_word(list, "cpu", ' ');
    layout.v2_io = layout.v2_controllers && has_word(list, "io", ' ');
}

std::string find_v1(const std::map<std::string, Hierarchy>& mounts,
                    const std::map<std::string, std::string>& own, std::string_view controller)
{
    for (const auto& [options, hierarchy] : mounts) {
        if (options.empty() || !has_word(options, controller, ',')) {
            continue;
        }
        for (const auto& [controllers, path] : own) {
            if (has_word(controllers, controller, ',')) {
                std::string directory = own_directory(hierarchy, path);
                return is_writable_directory(directory) ? directory : std::string();
            }
        }
    }
    return {};
}

bool write_control(const std::string& path, std::string_view value)
{
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return fd &&
           ::write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

/// Those in there, where they are this one and, of a container, its first process, which has
/// nothing else to do than to wait for this one; empty: there are others.
std::vector<std::string> own_processes(const std::string& base)
{
    const bool is_below_first = ::getppid() == 1 && ::getpid() != 1;
    std::vector<std::string> own;
    std::istringstream lines(read_text(base + "/cgroup.procs"));
    for (std::string pid; std::getline(lines, pid);) {
        if (pid != std::to_string(::getpid()) && !(is_below_first && pid == "1")) {
            return {};
        }
        own.push_back(pid);
    }
    return own;
}

bool enable(const std::string& base)
{
    return write_control(base + "/cgroup.subtree_control", "+memory +pids +cpu");
}

} // namespace

CgroupLayout find_cgroups(const std::string& root, bool privileged)
{
    CgroupLayout layout;
    const auto mounts = mounted_hierarchies(root);
    const auto own = own_cgroups(root);
    const auto v2_mount = mounts.find("");
    const auto v2_own = own.find("");
    if (v2_mount != mounts.end() && v2_own != own.end()) {
        find_v2(layout, v2_mount->second, v2_own->second, privileged);
    }
    if (!layout.v2_controllers) {
        layout.v1.memory = find_v1(mounts, own, "memory");
        layout.v1.pids = find_v1(mounts, own, "pids");
        layout.v1.cpu = find_v1(mounts, own, "cpu");
    }
    if (!layout.kills()) {
        layout.v1.freezer = find_v1(mounts, own, "freezer");
    }
    return layout;
}

void prepare_delegated(CgroupLayout& layout)
{
    if (!layout.v2_controllers || enable(layout.v2_base)) {
        return;
    }
    const std::string leaf = layout.v2_base + server_leaf;
    const auto own = own_processes(layout.v2_base);
    const auto moves = [&](const std::string& pid) {
        return write_control(leaf + "/cgroup.procs", pid);
    };
    layout.v2_controllers = !own.empty() && (::mkdir(leaf.c_str(), 0755) == 0 || errno == EEXIST) &&
                            std::ranges::all_of(own, moves) && enable(layout.v2_base);
}

std::string cgroup_remedy(const std::string& root, uid_t user)
{
    if (user == 0) {
        return "start berth where its cgroup can be written (of a container: its own cgroup "
               "namespace, with /sys/fs/cgroup not read-only)";
    }
    const auto there = [&](const std::string& path) {
        return ::access((root + path).c_str(), F_OK) == 0;
    };
    if (!there("/run/systemd/system")) { // as sd_booted(3) asks
        return "whoever starts berth has to give it a cgroup that this user may write, "
               "cgroup.procs in it too, with the controllers memory, pids and cpu: no systemd runs "
               "here that would";
    }
    const std::string line = "systemd-run --user --scope -p Delegate=yes berth serve";
    return there("/run/user/" + std::to_string(user) + "/systemd/private")
               ? line
               : "systemd does not run for this user: loginctl enable-linger, log in anew, then " +
                     line;
}

} // namespace berth::local
