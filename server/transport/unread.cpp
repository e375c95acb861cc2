#include "server/transport/unread.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace berth::transport {
namespace {

/// Of a pipe, at either of its ends.
std::uint64_t bytes_in_pipe(int pipe) noexcept
{
    int bytes = 0;
    return ::ioctl(pipe, FIONREAD, &bytes) == 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

bool is_tcp(int socket) noexcept
{
    int protocol = 0;
    socklen_t size = sizeof(protocol);
    return ::getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
           protocol == IPPROTO_TCP;
}

/// A socket tells no more: what it counts is memory, or with TCP what is not acknowledged. There
/// the end of what was sent counts as one byte more, which no peer reads that has all and closes.
bool socket_is_empty(int socket, bool is_shut) noexcept
{
    int bytes = 0;
    return ::ioctl(socket, TIOCOUTQ, &bytes) != 0 || bytes == 0 ||
           (bytes == 1 && is_shut && is_tcp(socket));
}

/// A socket whose peer closed it with something unread in it, which counts no more; a pipe that
/// nobody has open to read.
bool is_broken(int output) noexcept
{
    pollfd state{.fd = output, .events = 0, .revents = 0};
    return ::poll(&state, 1, 0) > 0 && (state.revents & POLLERR) != 0;
}

} // namespace

std::uint64_t Unread::read_until() noexcept
{
    // Before the look: what is written meanwhile may be counted as unread, never as read.
    const std::uint64_t written = written_;
    struct stat kind{};
    if (::fstat(output_, &kind) != 0) {
        return written;
    }
    if (S_ISFIFO(kind.st_mode)) {
        return written - std::min(written, bytes_in_pipe(output_));
    }
    if (!S_ISSOCK(kind.st_mode)) {
        return written;
    }
    // In this order: the error is there before the count goes down. Whoever reads from the socket
    // may take the error away.
    const bool empty = socket_is_empty(output_, shut_);
    broken_ = broken_ || is_broken(output_);
    return empty && !broken_ ? written : 0;
}

void Unread::lose(const Waiting& one) noexcept
{
    try {
        if (one.lost) {
            one.lost();
        }
    } catch (const std::exception&) {
        return; // no memory is left to keep it with
    }
}

Unread::~Unread()
{
    for (const auto& one : waiting_) { // nobody else has it any more
        lose(one);
    }
}

bool Unread::when_read(Task then, std::uint64_t end, Task lost)
{
    if (read_until() >= end) {
        then();
        return true;
    }
    Waiting dropped; // outside the lock
    {
        const std::lock_guard lock(mutex_);
        if (waiting_.size() == most) {
            dropped = std::move(waiting_.front());
            waiting_.pop_front();
        }
        waiting_.push_back({end, std::move(then), std::move(lost)});
        interval_ = first;
    }
    lose(dropped);
    return false;
}

std::chrono::milliseconds Unread::look()
{
    std::deque<Waiting> due;
    std::chrono::milliseconds next{-1};
    {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) {
            return next;
        }
        const auto read = read_until();
        while (!waiting_.empty() && waiting_.front().end <= read) {
            due.push_back(std::move(waiting_.front()));
            waiting_.pop_front();
        }
        if (!waiting_.empty()) {
            next = interval_;
            interval_ = std::min(interval_ * 2, longest);
        }
    }
    for (const auto& one : due) {
        one.then();
    }
    return next;
}

void Unread::settle(std::chrono::milliseconds time)
{
    const auto end = std::chrono::steady_clock::now() + time;
    while (look().count() >= 0 && !is_broken(output_) && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(first);
    }
}

} // namespace berth::transport
