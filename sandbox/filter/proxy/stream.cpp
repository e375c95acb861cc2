#include "sandbox/filter/proxy/stream.hpp"

#include "sandbox/base/deadline.hpp"

#include <array>
#include <cerrno>
#include <chrono>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace berth::filter {
namespace {

constexpr std::chrono::seconds patience_with_silence{2};
constexpr std::chrono::seconds patience_with_rest{10};
/// Whoever sends does not pause that long, mostly; one that waits for an answer does.
constexpr std::chrono::milliseconds pause_of_sender{250};
/// That something has arrived no poll(2) tells.
constexpr int milliseconds_between_looks = 10;

Stream::Moved moved(ssize_t size)
{
    if (size >= 0) {
        return {.outcome = Stream::Outcome::moved, .size = static_cast<std::size_t>(size)};
    }
    return {.outcome = errno == EAGAIN || errno == EINTR ? Stream::Outcome::later
                                                         : Stream::Outcome::broken};
}

/// Of what was sent, what the other side's kernel has not said to have.
int under_way(int socket)
{
    int left = 0;
    return ::ioctl(socket, SIOCOUTQ, &left) == 0 ? left : 0;
}

/// Until there is nothing more that a reset would take away, or nobody who takes it.
void wait_before_reset(int socket)
{
    const auto heard = Deadline::after(patience_with_rest);
    auto arrival = Deadline::after(patience_with_rest);
    auto pause = Deadline::after(pause_of_sender);
    int least = under_way(socket);
    pollfd waiting{socket, POLLIN, 0};
    std::array<char, 16UL * 1024> thrown_away; // NOLINT(*-member-init): nobody reads it
    while (!arrival.expired()) {
        const ssize_t size = ::recv(socket, thrown_away.data(), thrown_away.size(), MSG_DONTWAIT);
        if (size > 0 && !heard.expired()) {
            pause = Deadline::after(pause_of_sender);
            continue;
        }
        if (size == 0 || heard.expired()) {
            waiting.events = 0; // it sends no more, or for too long
        }
        const int left = under_way(socket);
        if (left < least) { // by a slow reader too it is all to be had
            least = left;
            arrival = Deadline::after(patience_with_rest);
        }
        const bool is_sending = waiting.events != 0 && !pause.expired();
        const bool has_gone = (size < 0 && errno != EAGAIN && errno != EINTR) ||
                              (waiting.revents & (POLLHUP | POLLERR)) != 0;
        if (has_gone || (!is_sending && left == 0)) {
            return;
        }
        (void)::poll(&waiting, 1, milliseconds_between_looks);
    }
}

} // namespace

Stream::Moved PlainStream::receive(std::span<char> buffer) noexcept
{
    const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), 0);
    return size == 0 ? Moved{.outcome = Outcome::ended} : moved(size);
}

Stream::Moved PlainStream::send(std::string_view bytes) noexcept
{
    const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return size < 0 && errno == EPIPE ? Moved{.outcome = Outcome::closed} : moved(size);
}

void PlainStream::end() noexcept
{
    (void)::shutdown(socket_, SHUT_WR);
}

void take_leave(const Stream& stream) noexcept
{
    const int socket = stream.descriptor();
    (void)::shutdown(socket, SHUT_WR);
    const auto all = Deadline::after(patience_with_rest);
    std::array<char, 16UL * 1024> thrown_away; // NOLINT(*-member-init): nobody reads it
    for (;;) {
        const ssize_t size = ::recv(socket, thrown_away.data(), thrown_away.size(), MSG_DONTWAIT);
        if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR) || all.expired()) {
            return;
        }
        pollfd waiting{socket, POLLIN, 0};
        const auto silence = Deadline::earlier(all, Deadline::after(patience_with_silence));
        if (::poll(&waiting, 1, silence.poll_timeout()) == 0) {
            return;
        }
    }
}

void break_off(const Stream& stream) noexcept
{
    const int socket = stream.descriptor();
    wait_before_reset(socket);
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    (void)::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

} // namespace berth::filter
