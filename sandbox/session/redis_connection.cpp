#include "sandbox/session/redis_connection.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <hiredis/hiredis.h>
#include <system_error>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace berth::session {
namespace {

[[noreturn]] void throw_broken(const std::string& step, int error)
{
    throw RedisBroken(step + ": " + std::generic_category().message(error), false);
}

/// Throws when the deadline comes first.
void wait_for(int socket, short events, const Deadline& deadline, const std::string& step)
{
    pollfd waiting{.fd = socket, .events = events, .revents = 0};
    for (;;) {
        const int ready = ::poll(&waiting, 1, deadline.poll_timeout());
        if (ready > 0) {
            return;
        }
        if (ready == 0) {
            throw RedisBroken(step + ": no answer in time", true);
        }
        if (errno != EINTR) {
            throw_broken(step, errno);
        }
    }
}

UniqueFd connected(const sockaddr* name, socklen_t size, int family, const Deadline& deadline)
{
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
        throw_broken("make a socket", errno);
    }
    if (::connect(socket.get(), name, size) != 0) {
        // EAGAIN: the queue of a unix socket is full, which poll would not tell the end of.
        if (errno != EINPROGRESS && errno != EINTR) {
            throw_broken("connect", errno);
        }
        wait_for(socket.get(), POLLOUT, deadline, "connect");
        int error = 0;
        socklen_t length = sizeof(error);
        if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
            error = errno;
        }
        if (error != 0) {
            throw_broken("connect", error);
        }
    }
    return socket;
}

UniqueFd connect_to_file(const std::string& path, const Deadline& deadline)
{
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path.size() >= sizeof(name.sun_path)) {
        throw_broken("connect", ENAMETOOLONG);
    }
    std::memcpy(name.sun_path, path.data(), path.size());
    return connected(reinterpret_cast<const sockaddr*>(&name), sizeof(name), AF_UNIX, deadline);
}

UniqueFd connect_tcp(const RedisAddress& address, std::chrono::milliseconds patience)
{
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV;
    addrinfo* all = nullptr;
    const int failed =
        ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &all);
    if (failed != 0) {
        throw RedisBroken(std::string("find its host: ") + ::gai_strerror(failed), false);
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> end(all, &::freeaddrinfo);
    // From here: the resolver has times of its own, behind which nothing would be left to connect.
    const auto deadline = Deadline::after(patience);
    int addresses = 0;
    for (const addrinfo* each = all; each != nullptr; each = each->ai_next) {
        ++addresses;
    }
    for (const addrinfo* each = all;; each = each->ai_next) {
        try {
            // One that answers nothing, such as IPv6 of a host that has no way there, leaves the
            // others their part.
            auto socket =
                connected(each->ai_addr, each->ai_addrlen, each->ai_family,
                          Deadline::earlier(deadline, Deadline::after(patience / addresses)));
            const int yes = 1;
            ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
            return socket;
        } catch (const RedisBroken&) {
            if (each->ai_next == nullptr) {
                throw;
            }
        }
    }
}

RedisReply converted(const redisReply& reply)
{
    RedisReply result;
    switch (reply.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
        result.kind =
            reply.type == REDIS_REPLY_ERROR ? RedisReply::Kind::error : RedisReply::Kind::text;
        result.text.assign(reply.str, static_cast<std::size_t>(reply.len));
        break;
    case REDIS_REPLY_INTEGER:
        result.kind = RedisReply::Kind::number;
        result.number = reply.integer;
        break;
    case REDIS_REPLY_ARRAY:
        result.kind = RedisReply::Kind::list;
        for (std::size_t i = 0; i < static_cast<std::size_t>(reply.elements); ++i) {
            result.items.push_back(converted(*reply.element[i]));
        }
        break;
    default:
        break;
    }
    return result;
}

} // namespace

void RedisConnection::EndOfReader::operator()(redisReader* reader) const noexcept
{
    ::redisReaderFree(reader);
}

RedisConnection::RedisConnection(const RedisAddress& address, const RedisTimes& times)
    : patience_(times.command), reader_(::redisReaderCreate())
{
    if (!reader_) {
        throw std::bad_alloc();
    }
    socket_ = address.host.empty() ? connect_to_file(address.socket, Deadline::after(times.connect))
                                   : connect_tcp(address, times.connect);
}

RedisReply RedisConnection::command(const std::vector<std::string>& words)
{
    std::vector<const char*> starts;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
        starts.push_back(word.data());
        sizes.push_back(word.size());
    }
    char* text = nullptr;
    // Of another type in later releases of hiredis.
    const auto size = ::redisFormatCommandArgv(&text, static_cast<int>(words.size()), starts.data(),
                                               sizes.data());
    if (size < 0) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<char, decltype(&::redisFreeCommand)> owned(text, &::redisFreeCommand);
    const auto deadline = Deadline::after(patience_);
    send({text, static_cast<std::size_t>(size)}, deadline);
    for (;;) {
        void* found = nullptr;
        if (::redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
            throw RedisBroken("what answers there is no Redis", false);
        }
        if (found != nullptr) {
            const std::unique_ptr<void, decltype(&::freeReplyObject)> reply(found,
                                                                            &::freeReplyObject);
            return converted(*static_cast<const redisReply*>(found));
        }
        receive(deadline);
    }
}

void RedisConnection::send(std::string_view bytes, const Deadline& deadline)
{
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN) {
            wait_for(socket_.get(), POLLOUT, deadline, "send");
        } else if (errno != EINTR) {
            throw_broken("send", errno);
        }
    }
}

void RedisConnection::receive(const Deadline& deadline)
{
    std::array<char, 16'384> bytes{};
    for (;;) {
        const ssize_t received = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
        if (received > 0) {
            if (::redisReaderFeed(reader_.get(), bytes.data(),
                                  static_cast<std::size_t>(received)) != REDIS_OK) {
                throw std::bad_alloc();
            }
            return;
        }
        if (received == 0) {
            throw RedisBroken("it closed the connection", false);
        }
        if (errno == EAGAIN) {
            wait_for(socket_.get(), POLLIN, deadline, "receive");
        } else if (errno != EINTR) {
            throw_broken("receive", errno);
        }
    }
}

} // namespace berth::session
