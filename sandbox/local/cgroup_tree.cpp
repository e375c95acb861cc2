#include "sandbox/local/cgroup_tree.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace berth::local {
namespace {

// The session's user may make cgroups below its own; deeper than this it never does by itself, and
// an unbounded recursion would be its way to end the server.
constexpr int max_cgroup_depth = 8;

// Linux tells of the last process's end up to 10 ms later (CGROUP_FILE_NOTIFY_MIN_INTV), and to
// nobody where the cgroup is gone by then. Systemd would wait for that word, and know the unit, for
// ever.
constexpr auto time_of_systemd = std::chrono::milliseconds(100);

std::vector<std::string> subdirectories(const UniqueFd& directory)
{
    std::vector<std::string> names;
    const auto stream = open_stream(directory.get());
    if (!stream) {
        return names;
    }
    while (const dirent* entry = ::readdir(stream.get())) {
        if (entry->d_type == DT_DIR && std::strcmp(entry->d_name, ".") != 0 &&
            std::strcmp(entry->d_name, "..") != 0) {
            names.emplace_back(entry->d_name);
        }
    }
    return names;
}

void kill_listed(const UniqueFd& directory)
{
    const UniqueFd file(::openat(directory.get(), "cgroup.procs", O_RDONLY | O_CLOEXEC));
    std::string text(65536, '\0');
    const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    const char* at = text.c_str();
    while (*at != '\0') {
        char* end = nullptr;
        const long pid = std::strtol(at, &end, 10);
        if (end == at) {
            break;
        }
        // 0 is a process of another pid namespace; kill(0) would hit our own group.
        if (pid > 0) {
            const UniqueFd process(sys::pidfd_open(static_cast<pid_t>(pid), 0));
            if (process) {
                sys::pidfd_send_signal(process.get(), SIGKILL);
            }
        }
        at = end + 1;
    }
}

/// A guest that was killed while its session was paused has left it frozen; on v1 it would stay so,
/// and SIGKILL pending, for ever.
void thaw(const UniqueFd& directory)
{
    const UniqueFd state(::openat(directory.get(), "freezer.state", O_WRONLY | O_CLOEXEC));
    if (state) {
        (void)!::write(state.get(), "THAWED", 6);
    }
}

void kill_below(const UniqueFd& directory, int depth)
{
    const UniqueFd kill(::openat(directory.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
    if (kill && ::write(kill.get(), "1", 1) == 1) {
        return;
    }
    kill_listed(directory);
    if (depth < max_cgroup_depth) {
        for (const auto& name : subdirectories(directory)) {
            if (const UniqueFd child = open_subdirectory(directory.get(), name.c_str())) {
                kill_below(child, depth + 1);
            }
        }
    }
    thaw(directory);
}

bool remove_below(int at, const char* name, int depth)
{
    if (::unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
        return true;
    }
    if (depth < max_cgroup_depth) {
        if (const UniqueFd directory = open_subdirectory(at, name)) {
            for (const auto& child : subdirectories(directory)) {
                remove_below(directory.get(), child.c_str(), depth + 1);
            }
        }
    }
    return ::unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

bool is_populated(const UniqueFd& directory)
{
    const UniqueFd file(::openat(directory.get(), "cgroup.events", O_RDONLY | O_CLOEXEC));
    std::array<char, 256> text{};
    const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
    // Where it does not say, v1's, somebody may be there.
    return size <= 0 ||
           std::string_view(text.data(), static_cast<std::size_t>(size)).find("populated 0\n") ==
               std::string_view::npos;
}

void wait_a_moment()
{
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::nanosleep(&pause, nullptr);
}

// Of a removed cgroup only the descriptor is left: its file of events is gone.
bool is_there(const UniqueFd& directory)
{
    return ::faccessat(directory.get(), "cgroup.events", F_OK, 0) == 0;
}

bool is_unit(std::string_view path)
{
    return path.ends_with(".service") || path.ends_with(".scope");
}

} // namespace

void kill_cgroup(const std::string& path)
{
    if (const UniqueFd directory = open_subdirectory(AT_FDCWD, path.c_str())) {
        kill_below(directory, 0);
    }
}

bool remove_cgroup(const std::string& path, const Deadline& deadline)
{
    for (;;) {
        if (remove_below(AT_FDCWD, path.c_str(), 0)) {
            return true;
        }
        if (errno != EBUSY && errno != ENOTEMPTY) {
            return false;
        }
        if (deadline.expired()) {
            return false;
        }
        kill_cgroup(path);
        wait_a_moment();
    }
}

void remove_abandoned(const std::string& folder)
{
    if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) {
        return;
    }
    const auto server = folder.substr(0, folder.rfind('/'));
    const UniqueFd directory = open_subdirectory(AT_FDCWD, server.c_str());
    if (directory && is_unit(server) && !is_populated(directory)) {
        const auto to_systemd = Deadline::after(time_of_systemd);
        while (is_there(directory) && !to_systemd.expired()) {
            wait_a_moment();
        }
        ::rmdir((server + server_leaf).c_str());
        ::rmdir(server.c_str());
    }
}

} // namespace berth::local
