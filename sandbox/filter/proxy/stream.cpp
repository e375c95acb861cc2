#include "sandbox/filter/proxy/stream.hpp"

#include "sandbox/base/deadline.hpp"

#include <array>
#include <cerrno>
#include <chrono>

#include <poll.h>
#include <sys/socket.h>

namespace berth::filter {
namespace {

constexpr std::chrono::seconds patience_with_silence{2};
constexpr std::chrono::seconds patience_with_rest{10};

Stream::Moved moved(ssize_t size)
{
    if (size >= 0) {
        return {.outcome = Stream::Outcome::moved, .size = static_cast<std::size_t>(size)};
    }
    return {.outcome = errno == EAGAIN || errno == EINTR ? Stream::Outcome::later
                                                         : Stream::Outcome::broken};
}

} // namespace

Stream::Moved PlainStream::receive(std::span<char> buffer) noexcept
{
    const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), 0);
    return size == 0 ? Moved{.outcome = Outcome::ended} : moved(size);
}

Stream::Moved PlainStream::send(std::string_view bytes) noexcept
{
    return moved(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
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

} // namespace berth::filter
