#include "server/transport/http_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace berth::transport {
namespace {

constexpr std::string_view end_of_head = "\r\n\r\n";

/// Whether one of `events` came before the deadline.
bool wait_for(int socket, short events, const Deadline& deadline)
{
    pollfd waiting{.fd = socket, .events = events, .revents = 0};
    for (;;) {
        const int ready = ::poll(&waiting, 1, deadline.poll_timeout());
        if (ready > 0) {
            return true;
        }
        if (ready == 0 || errno != EINTR) {
            return false;
        }
    }
}

} // namespace

HttpSocket::HttpSocket(UniqueFd socket, HttpTraffic* traffic, std::chrono::milliseconds patience)
    : socket_(std::move(socket)), traffic_(traffic), patience_(patience), unread_(socket_.get())
{
}

HttpSocket::~HttpSocket()
{
    try {
        // A peer that has read all and closed has read all, though nobody has looked since.
        (void)unread_.look();
    } catch (const std::exception&) {
        return; // then it counts as unread, and is told again
    }
}

ssize_t HttpSocket::receive(char* data, std::size_t size, const Deadline& deadline)
{
    for (;;) {
        const auto count = ::recv(socket_.get(), data, size, MSG_DONTWAIT);
        if (count >= 0) {
            if (traffic_ != nullptr) {
                traffic_->received(static_cast<std::size_t>(count));
            }
            return count;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (deadline.expired() || !wait_for(socket_.get(), POLLIN, deadline)) {
                return -1;
            }
        } else if (errno != EINTR) {
            note_reset(errno);
            return -1;
        }
    }
}

/// Appends what there is to what was read.
ssize_t HttpSocket::read_ahead(const Deadline& deadline)
{
    constexpr std::size_t piece = 8192;
    ahead_.erase(0, std::exchange(taken_, 0));
    const auto before = ahead_.size();
    ahead_.resize(before + piece);
    const auto count = receive(ahead_.data() + before, piece, deadline);
    ahead_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return count;
}

HttpSocket::Head HttpSocket::read_head(std::string& head, std::size_t limit,
                                       const Deadline& deadline)
{
    std::size_t searched = 0;
    std::size_t skipped = 0; // empty lines, of which a stranger could send them without end
    for (;;) {
        if (searched == 0) {
            const auto begin = std::min(ahead_.find_first_not_of("\r\n", taken_), ahead_.size());
            skipped += begin - taken_;
            ahead_.erase(0, begin);
            taken_ = 0;
        }
        const auto end = ahead_.find(end_of_head, searched);
        if (end != std::string::npos && end + end_of_head.size() <= limit) {
            taken_ = end + end_of_head.size();
            head.assign(ahead_, 0, taken_);
            return Head::whole;
        }
        if (skipped + ahead_.size() >= limit) {
            return Head::too_long;
        }
        // Each byte once, however small the pieces are that they come in.
        searched = ahead_.size() < end_of_head.size() ? 0 : ahead_.size() - end_of_head.size() + 1;
        const auto count = read_ahead(deadline);
        if (count <= 0) {
            return count == 0 && ahead_.empty() ? Head::closed : Head::late;
        }
        if (deadline.expired()) { // also of one that never lets the socket run empty
            return Head::late;
        }
    }
}

ssize_t HttpSocket::read(char* data, std::size_t size)
{
    // The lines between chunks are asked for byte by byte.
    constexpr std::size_t small = 4096;
    if (!has_more() && size >= small) {
        return receive(data, size, read_deadline_);
    }
    if (!has_more()) {
        if (const auto count = read_ahead(read_deadline_); count <= 0) {
            return count;
        }
    }
    const auto count = std::min(size, ahead_.size() - taken_);
    std::copy_n(ahead_.data() + taken_, count, data);
    taken_ += count;
    return static_cast<ssize_t>(count);
}

bool HttpSocket::write(std::string_view data)
{
    while (!data.empty()) {
        const auto count =
            ::send(socket_.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) {
            unread_.wrote(static_cast<std::size_t>(count));
            if (traffic_ != nullptr) {
                traffic_->sent(static_cast<std::size_t>(count));
            }
            data.remove_prefix(static_cast<std::size_t>(count));
        } else if (count == 0) {
            return false;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(socket_.get(), POLLOUT, Deadline::after(patience_))) {
                return false;
            }
        } else if (errno != EINTR) {
            note_reset(errno);
            return false;
        }
    }
    return true;
}

/// The peer has closed it with something unread in it. The kernel tells that once, to whoever asks
/// first, and counts nothing as unread from then on.
void HttpSocket::note_reset(int error) noexcept
{
    if (error == ECONNRESET) {
        unread_.broke();
    }
}

bool HttpSocket::is_gone() const noexcept
{
    pollfd state{.fd = socket_.get(), .events = POLLRDHUP, .revents = 0};
    return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void HttpSocket::linger()
{
    shut(SHUT_WR);
    take_rest();
    if (peer_user()) {
        wait_for_reader();
    }
}

void HttpSocket::take_rest()
{
    constexpr std::size_t most = std::size_t{4} << 20U;
    const auto deadline = Deadline::after(std::chrono::seconds(1));
    std::array<char, 8192> piece{};
    for (std::size_t taken = 0; taken < most;) {
        const auto count = receive(piece.data(), piece.size(), deadline);
        if (count <= 0) {
            return;
        }
        taken += static_cast<std::size_t>(count);
    }
}

/// Once it is closed here nobody sees any more what the peer reads of it: that would count as
/// unread, and be told again.
void HttpSocket::wait_for_reader()
{
    const auto deadline = Deadline::after(patience_);
    for (auto next = unread_.look(); next.count() >= 0 && !is_gone() && !deadline.expired();
         next = unread_.look()) {
        (void)wait_for(socket_.get(), POLLRDHUP, Deadline::after(next));
    }
}

void HttpSocket::break_off() noexcept
{
    shut(SHUT_RDWR);
}

/// Told afterwards: what is not acknowledged by then is no byte of an answer.
void HttpSocket::shut(int sides) noexcept
{
    if (::shutdown(socket_.get(), sides) == 0) {
        unread_.shut();
    }
}

std::optional<uid_t> HttpSocket::peer_user() const noexcept
{
    int domain = 0;
    socklen_t size = sizeof(domain);
    ucred peer{};
    socklen_t peer_size = sizeof(peer);
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
        domain != AF_UNIX ||
        ::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0) {
        return std::nullopt;
    }
    return peer.uid;
}

} // namespace berth::transport
