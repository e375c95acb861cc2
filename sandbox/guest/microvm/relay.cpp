#include "sandbox/guest/microvm/relay.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr std::size_t most_at_once = 64UL * 1024;

void require_unblocking(int fd)
{
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        throw_errno("fcntl");
    }
}

/// Bytes that read(2) got, 0 at the end of the stream; nothing where none are there yet.
std::optional<std::size_t> read_some(int fd, std::string& into)
{
    into.resize(most_at_once);
    const ssize_t size = ::read(fd, into.data(), into.size());
    into.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    if (size < 0 && errno != EAGAIN && errno != EINTR) {
        throw_errno("read");
    }
    return size < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(size));
}

} // namespace

Relay::Relay(UniqueFd guest, std::string opening, const Options& options)
    : guest_(std::move(guest)), options_(options), in_{.bytes = std::move(opening)}
{
    require_unblocking(guest_.get());
    require_unblocking(options_.output);
}

protocol::ConnectorEnd Relay::run()
{
    for (;;) {
        short input = 0;
        short guest = 0;
        short output = 0;
        if (!wait(input, guest, output)) {
            return protocol::ConnectorEnd::not_taken_off;
        }
        if (const auto end = step(input, guest, output)) {
            return *end;
        }
    }
}

/// False: what is there for the host was not taken off.
bool Relay::wait(short& input, short& guest, short& output)
{
    const bool full = !out_.empty();
    std::array<pollfd, 3> all{{
        {.fd = in_.empty() && !in_.ended ? options_.input : -1, .events = POLLIN, .revents = 0},
        {.fd = full && in_.empty() ? -1 : guest_.get(),
         .events = static_cast<short>((full ? 0 : POLLIN) | (in_.empty() ? 0 : POLLOUT)),
         .revents = 0},
        {.fd = options_.output, .events = static_cast<short>(full ? POLLOUT : 0), .revents = 0},
    }};
    const auto deadline = full ? Deadline::after(options_.patience) : Deadline();
    int ready = 0;
    do {
        ready = ::poll(all.data(), all.size(), deadline.poll_timeout());
    } while (ready < 0 && errno == EINTR);
    if (ready < 0) {
        throw_errno("poll");
    }
    input = all[0].revents;
    guest = all[1].revents;
    output = all[2].revents;
    return ready > 0;
}

Relay::End Relay::step(short input, short guest, short output)
{
    if ((guest & POLLOUT) != 0) {
        give_guest();
    }
    if ((guest & (POLLIN | POLLHUP | POLLERR)) != 0 && out_.empty()) {
        if (const auto end = take_guest()) {
            return end;
        }
    }
    if (!out_.empty()) {
        if (const auto end = give_output()) {
            return end;
        }
    } else if ((output & POLLERR) != 0) {
        return protocol::ConnectorEnd::not_taken_off; // nobody is there to read an answer
    }
    if (input != 0) {
        take_input();
    }
    return std::nullopt;
}

void Relay::take_input()
{
    in_.done = 0;
    in_.ended = read_some(options_.input, in_.bytes) == std::optional<std::size_t>(0);
}

/// What a guest that has gone does not take, it has refused, or it answers without it: what it says
/// is to be read yet.
void Relay::give_guest()
{
    const ssize_t sent = ::send(guest_.get(), in_.bytes.data() + in_.done,
                                in_.bytes.size() - in_.done, MSG_NOSIGNAL);
    if (sent >= 0) {
        in_.done += static_cast<std::size_t>(sent);
    } else if (errno != EAGAIN && errno != EINTR) {
        in_ = {.bytes = {}, .done = 0, .ended = true};
    }
}

Relay::End Relay::take_guest()
{
    out_ = {};
    try {
        const auto size = read_some(guest_.get(), out_.bytes);
        if (size != std::optional<std::size_t>(0)) {
            out_.bytes.resize(answer_.pass(out_.bytes));
            return std::nullopt;
        }
    } catch (const std::system_error& error) {
        if (error.code().value() != ECONNRESET) {
            throw;
        }
        without_answer_ = protocol::ConnectorEnd::left_unread; // see UnixChannel::receive()
    }
    return without_answer_;
}

Relay::End Relay::give_output()
{
    const ssize_t size =
        ::write(options_.output, out_.bytes.data() + out_.done, out_.bytes.size() - out_.done);
    if (size >= 0) {
        out_.done += static_cast<std::size_t>(size);
    } else if (errno == EPIPE) {
        return protocol::ConnectorEnd::not_taken_off;
    } else if (errno != EAGAIN && errno != EINTR) {
        throw_errno("write");
    }
    return out_.empty() && answer_.complete() ? End(protocol::ConnectorEnd::answered) : End();
}

} // namespace berth::guest
