#include "sandbox/guest/exec/process_tree.hpp"

#include "sandbox/base/process_stat.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>
#include <unordered_map>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr std::size_t max_name = 120;

void set(bool* flag) noexcept
{
    if (flag != nullptr) {
        *flag = true;
    }
}

std::string read_proc(pid_t pid, const char* file, std::size_t limit, bool* unread = nullptr)
{
    const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string content(limit, '\0');
    const ssize_t size = fd ? ::read(fd.get(), content.data(), content.size()) : -1;
    if (size < 0 && errno != ENOENT && errno != ESRCH) {
        set(unread);
    }
    content.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return content;
}

/// Either name is the process's to choose: escape sequences must not reach a terminal.
std::string for_people(std::string name)
{
    for (char& c : name) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            c = ' ';
        }
    }
    name = utf8::sanitize(name);
    return std::string(utf8::prefix_bytes(name, max_name));
}

struct CloseDirectory {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

} // namespace

std::optional<ProcessStat> read_process(pid_t pid, bool* unread)
{
    return parse_process_stat(pid, read_proc(pid, "stat", 1024, unread));
}

std::vector<ProcessStat> all_processes(bool* unread)
{
    std::vector<ProcessStat> result;
    const std::unique_ptr<DIR, CloseDirectory> directory(::opendir("/proc"));
    if (!directory) {
        set(unread);
        return result;
    }
    for (;;) {
        errno = 0;
        const dirent* entry = ::readdir(directory.get());
        if (entry == nullptr) {
            if (errno != 0) {
                set(unread);
            }
            return result;
        }
        const std::string_view name = entry->d_name;
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc{} || end != name.data() + name.size()) {
            continue;
        }
        if (const auto stat = read_process(pid, unread)) {
            result.push_back(*stat);
        }
    }
}

std::vector<ProcessStat> descendants(const std::vector<ProcessStat>& all,
                                     const std::vector<pid_t>& roots)
{
    std::unordered_multimap<pid_t, const ProcessStat*> children;
    for (const auto& process : all) {
        children.emplace(process.parent, &process);
    }
    std::vector<ProcessStat> result;
    std::vector<pid_t> open = roots;
    // The table is not a snapshot, so parents may form a circle: each pid is expanded once.
    std::vector<pid_t> expanded = roots;
    while (!open.empty()) {
        const pid_t parent = open.back();
        open.pop_back();
        const auto [first, last] = children.equal_range(parent);
        for (auto child = first; child != last; ++child) {
            const ProcessStat& process = *child->second;
            if (std::ranges::find(expanded, process.pid) != expanded.end()) {
                continue;
            }
            expanded.push_back(process.pid);
            open.push_back(process.pid);
            if (process.alive()) {
                result.push_back(process);
            }
        }
    }
    return result;
}

bool signal_process(const ProcessStat& seen, int number)
{
    const UniqueFd pidfd(sys::pidfd_open(seen.pid, 0));
    if (!pidfd) {
        return false;
    }
    // Only now is the pid pinned: if it was recycled before, its start time tells.
    const auto now = read_process(seen.pid);
    if (!now || now->start_time != seen.start_time) {
        return false;
    }
    return sys::pidfd_send_signal(pidfd.get(), number) == 0;
}

std::string command_line(pid_t pid)
{
    const auto line = read_proc(pid, "cmdline", 4 * max_name);
    return for_people(line.substr(0, line.find_last_not_of('\0') + 1));
}

std::string short_process_name(pid_t pid)
{
    auto name = read_proc(pid, "comm", 64);
    while (!name.empty() && name.back() == '\n') {
        name.pop_back();
    }
    return for_people("[" + name + "]");
}

} // namespace berth::guest
