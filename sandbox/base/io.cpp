#include "sandbox/base/io.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth {
namespace {

/// Between a file's name and what is random.
constexpr std::string_view unfinished = ".tmp.";

bool was_written_before(int dirfd, const std::string& name, std::time_t time)
{
    struct stat status{};
    return ::fstatat(dirfd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_mtim.tv_sec < time;
}

} // namespace

void wake(int eventfd) noexcept
{
    const std::uint64_t one = 1;
    // It fails only when the counter is full: then it is readable already.
    [[maybe_unused]] const auto written = ::write(eventfd, &one, sizeof(one));
}

std::size_t read_full(int fd, void* data, std::size_t size)
{
    std::size_t done = 0;
    while (done < size) {
        const ssize_t n = ::read(fd, static_cast<char*>(data) + done, size - done);
        if (n > 0) {
            done += static_cast<std::size_t>(n);
        } else if (n == 0) {
            break;
        } else if (errno != EINTR) {
            throw_errno("read");
        }
    }
    return done;
}

void write_full(int fd, std::string_view data)
{
    while (!data.empty()) {
        const ssize_t n = ::write(fd, data.data(), data.size());
        if (n >= 0) {
            data.remove_prefix(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {
            pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
            ::poll(&waiting, 1, -1);
        } else if (errno != EINTR) {
            throw_errno("write");
        }
    }
}

void write_number(int fd, std::int32_t number)
{
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the bytes of a number
    write_full(fd, {reinterpret_cast<const char*>(&number), sizeof number});
}

std::string read_file_limited(int dirfd, const std::string& path, std::size_t limit)
{
    // Who puts a pipe in a file's place would have whoever opens it wait for ever.
    const UniqueFd fd(::openat(dirfd, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd) {
        throw_errno("open " + path);
    }
    struct stat status{};
    if (::fstat(fd.get(), &status) != 0) {
        throw_errno("stat " + path);
    }
    if (S_ISFIFO(status.st_mode)) {
        errno = EINVAL;
        throw_errno("read " + path + ", which is a pipe");
    }
    // By what is there, not by what may be: a limit can be far above it.
    constexpr std::size_t first = 4096;
    std::string content;
    std::size_t size = 0;
    while (size == content.size() && size <= limit) {
        content.resize(std::min(limit + 1, std::max(first, 4 * size)));
        size += read_full(fd.get(), content.data() + size, content.size() - size);
    }
    if (size > limit) {
        throw std::length_error(path + " is larger than " + std::to_string(limit) + " bytes");
    }
    content.resize(size);
    return content;
}

void write_file_atomically(int dirfd, const std::string& path, std::string_view content,
                           unsigned mode, bool sync)
{
    // Random: in a container every server may have the same pid, and one that was killed here has
    // left its file.
    const std::string temporary = path + std::string(unfinished) + random_hex(8);
    UniqueFd fd(::openat(dirfd, temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!fd) {
        throw_errno("create " + temporary);
    }
    try {
        write_full(fd.get(), content);
        if (sync && ::fsync(fd.get()) != 0) {
            throw_errno("fsync " + temporary);
        }
        if (::renameat(dirfd, temporary.c_str(), dirfd, path.c_str()) != 0) {
            throw_errno("rename to " + path);
        }
    } catch (...) {
        ::unlinkat(dirfd, temporary.c_str(), 0);
        throw;
    }
    if (sync) {
        const auto slash = path.rfind('/');
        const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        const UniqueFd directory(
            ::openat(dirfd, parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (directory) {
            ::fsync(directory.get());
        }
    }
}

bool is_unfinished(std::string_view name, std::string_view of)
{
    const auto at = of.empty() ? name.rfind(unfinished) : of.size();
    return at != std::string_view::npos && at > 0 && name.starts_with(of) &&
           name.substr(at).starts_with(unfinished) && name.size() > at + unfinished.size();
}

void remove_unfinished(int dirfd, const std::vector<std::string_view>& of, std::chrono::seconds age)
{
    const std::time_t latest = std::time(nullptr) - age.count();
    for (const auto& name : directory_names(dirfd)) {
        const bool is_one =
            of.empty() ? is_unfinished(name) : std::any_of(of.begin(), of.end(), [&](auto file) {
                return is_unfinished(name, file);
            });
        if (is_one && (age.count() == 0 || was_written_before(dirfd, name, latest))) {
            ::unlinkat(dirfd, name.c_str(), 0);
        }
    }
}

bool wait_readable(int fd, const Deadline& deadline)
{
    for (;;) {
        pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
        const int ready = ::poll(&waiting, 1, deadline.poll_timeout());
        if (ready >= 0) {
            return ready > 0;
        }
        if (errno != EINTR) {
            throw_errno("poll");
        }
    }
}

Pipe make_pipe(int flags)
{
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC | flags) != 0) {
        throw_errno("pipe2");
    }
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

} // namespace berth
