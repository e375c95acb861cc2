#include "sandbox/filter/proxy/stream.hpp"

#include <cerrno>

#include <sys/socket.h>

namespace berth::filter {
namespace {

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

} // namespace berth::filter
