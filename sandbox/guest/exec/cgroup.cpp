#include "sandbox/guest/exec/cgroup.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

std::string read_all(int fd)
{
    std::string content;
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t size =
            ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(content.size()));
        if (size <= 0) {
            return content;
        }
        content.append(buffer.data(), static_cast<std::size_t>(size));
    }
}

std::string read_in(int directory, const char* name)
{
    const UniqueFd fd(::openat(directory, name, O_RDONLY | O_CLOEXEC));
    return fd ? read_all(fd.get()) : std::string();
}

bool write_in(int directory, const char* name, std::string_view text)
{
    const UniqueFd fd(::openat(directory, name, O_WRONLY | O_CLOEXEC));
    return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::optional<std::uint64_t> parse(std::string_view text)
{
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    return value;
}

/// The number after `key` in a file of "key number" lines.
std::optional<std::uint64_t> value_of(std::string_view text, std::string_view key)
{
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
            return parse(line.substr(key.size() + 1));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::nullopt;
}

} // namespace

CommandCgroup::CommandCgroup(int parent, const std::string& name) : parent_(parent), name_(name)
{
    if (::mkdirat(parent, name.c_str(), 0755) != 0) {
        throw_errno("make cgroup " + name);
    }
    directory_.reset(
        ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!directory_) {
        const int error = errno;
        ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
        errno = error;
        throw_errno("open cgroup " + name);
    }
}

bool CommandCgroup::populated() const
{
    errno = 0;
    const auto value = value_of(read_in(directory_.get(), "cgroup.events"), "populated");
    return value ? *value != 0 : errno != ENOENT && errno != ENODEV;
}

std::vector<pid_t> CommandCgroup::processes() const
{
    std::vector<pid_t> result;
    const std::string text = read_in(directory_.get(), "cgroup.procs");
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto end = std::min(rest.find('\n'), rest.size());
        // 0 stands for a process that this pid namespace cannot see.
        if (const auto pid = parse(rest.substr(0, end)); pid && *pid > 0) {
            result.push_back(static_cast<pid_t>(*pid));
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return result;
}

void CommandCgroup::kill() const
{
    if (write_in(directory_.get(), "cgroup.kill", "1")) {
        return;
    }
    // Frozen processes cannot fork away from the list, and SIGKILL ends them all the same. Pids are
    // read anew each time and nobody but the guest reaps, yet a process may end in between.
    write_in(directory_.get(), "cgroup.freeze", "1");
    for (const pid_t pid : processes()) {
        ::kill(pid, SIGKILL);
    }
}

CommandCgroup::Usage CommandCgroup::usage() const
{
    Usage usage;
    usage.peak_memory = parse(read_in(directory_.get(), "memory.peak"));
    usage.cpu_time = value_of(read_in(directory_.get(), "cpu.stat"), "usage_usec");
    return usage;
}

std::optional<std::uint64_t> CommandCgroup::oom_kills() const
{
    return value_of(read_in(directory_.get(), "memory.events"), "oom_kill");
}

std::optional<std::uint64_t> CommandCgroup::refused_processes() const
{
    return value_of(read_in(directory_.get(), "pids.events"), "max");
}

bool CommandCgroup::remove()
{
    return ::unlinkat(parent_, name_.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

std::optional<std::uint64_t> cgroup_event(int fd, std::string_view key)
{
    return value_of(read_all(fd), key);
}

std::vector<std::optional<std::uint64_t>>
cgroup_events(int fd, std::initializer_list<std::string_view> keys)
{
    const std::string text = fd >= 0 ? read_all(fd) : std::string();
    std::vector<std::optional<std::uint64_t>> numbers;
    for (const auto key : keys) {
        numbers.push_back(value_of(text, key));
    }
    return numbers;
}

std::uint64_t oom_kills(int fd)
{
    return fd >= 0 ? value_of(read_all(fd), "oom_kill").value_or(0) : 0;
}

void forget_reading(int fd) noexcept
{
    // Of all that are forgotten one after the other that is the same number, and the kernel keeps a
    // name and an inode of each that was looked up here, 0.9 kB.
    const UniqueFd same(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    std::array<char, 32> path{};
    (void)std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", same.get());
    // Never another than what the guest was given: the number is its own, and so is this /proc.
    const UniqueFd fresh(same ? ::open(path.data(), O_RDONLY | O_CLOEXEC) : -1);
    if (fresh) {
        (void)::dup3(fresh.get(), fd, O_CLOEXEC);
    }
}

} // namespace berth::guest
