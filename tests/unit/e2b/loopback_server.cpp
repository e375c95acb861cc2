#include "tests/unit/e2b/loopback_server.hpp"

#include "sandbox/base/small_letters.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace berth::tests {
namespace {

std::size_t number_in(std::string_view text, int base)
{
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number, base);
    return number;
}

WireRequest parsed(std::string head)
{
    WireRequest request;
    std::string_view rest = head;
    const auto line = rest.substr(0, rest.find("\r\n"));
    request.method = line.substr(0, line.find(' '));
    request.target = line.substr(request.method.size() + 1);
    request.target.resize(request.target.find(' '));
    rest.remove_prefix(line.size() + 2);
    while (rest.size() > 2) {
        const auto field = rest.substr(0, rest.find("\r\n"));
        const auto colon = field.find(':');
        auto value = field.substr(colon + 1);
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        request.headers.emplace(in_small_letters(field.substr(0, colon)), value);
        rest.remove_prefix(field.size() + 2);
    }
    request.raw_head = std::move(head);
    return request;
}

} // namespace

std::string WireRequest::header(const std::string& name) const
{
    const auto found = headers.find(name);
    return found != headers.end() ? found->second : "(none)";
}

bool WireConnection::more()
{
    std::array<char, 65'536> piece{};
    const auto got = ::recv(socket_, piece.data(), piece.size(), 0);
    if (got <= 0) {
        return false;
    }
    bytes_.append(piece.data(), static_cast<std::size_t>(got));
    return true;
}

std::optional<WireRequest> WireConnection::request_head()
{
    while (bytes_.find("\r\n\r\n") == std::string::npos) {
        if (!more()) {
            return std::nullopt;
        }
    }
    const auto end = bytes_.find("\r\n\r\n") + 4;
    auto request = parsed(bytes_.substr(0, end));
    bytes_.erase(0, end);
    return request;
}

std::string WireConnection::some()
{
    if (bytes_.empty() && !more()) {
        return {};
    }
    return std::exchange(bytes_, {});
}

std::optional<WireRequest> WireConnection::request()
{
    auto request = request_head();
    if (!request) {
        return std::nullopt;
    }
    const auto needs = [&](std::size_t size) {
        while (bytes_.size() < size) {
            if (!more()) {
                return false;
            }
        }
        return true;
    };
    const auto take = [&](std::size_t size) {
        auto taken = bytes_.substr(0, size);
        bytes_.erase(0, size);
        return taken;
    };
    if (request->header("transfer-encoding") != "chunked") {
        const auto length = number_in(request->header("content-length"), 10);
        if (!needs(length)) {
            return std::nullopt;
        }
        request->body = take(length);
        return request;
    }
    for (;;) {
        while (bytes_.find("\r\n") == std::string::npos) {
            if (!more()) {
                return std::nullopt;
            }
        }
        const auto line = bytes_.find("\r\n");
        const auto length = number_in(bytes_.substr(0, line), 16);
        bytes_.erase(0, line + 2);
        if (!needs(length + 2)) {
            return std::nullopt;
        }
        request->body += take(length);
        bytes_.erase(0, 2);
        if (length == 0) {
            return request;
        }
    }
}

void WireConnection::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void WireConnection::finish() noexcept
{
    ::shutdown(socket_, SHUT_WR);
}

void WireConnection::reset() noexcept
{
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void WireConnection::wait_for_end()
{
    pollfd waiting{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    ::poll(&waiting, 1, -1);
}

LoopbackServer::LoopbackServer(Serve serve)
    : serve_(std::move(serve)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(name);
    auto* const address = reinterpret_cast<sockaddr*>(&name);
    if (::bind(listener_.get(), address, size) != 0 || ::listen(listener_.get(), 128) != 0 ||
        ::getsockname(listener_.get(), address, &size) != 0) {
        throw std::runtime_error("no port for the server of a test");
    }
    port_ = ntohs(name.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
}

LoopbackServer::Serve LoopbackServer::answering(Answer answer)
{
    return [answer = std::move(answer)](WireConnection& connection) {
        while (const auto request = connection.request()) {
            const auto answered = answer(*request);
            if (answered.empty()) {
                return;
            }
            connection.send(answered);
        }
    };
}

LoopbackServer::~LoopbackServer()
{
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    {
        const std::scoped_lock lock(mutex_);
        for (const int socket : sockets_) {
            ::shutdown(socket, SHUT_RDWR);
        }
    }
    for (auto& thread : threads_) {
        thread.join();
    }
}

e2b::Endpoint LoopbackServer::endpoint() const
{
    return {.tls = false, .host = "127.0.0.1", .port = port_, .prefix = {}};
}

void LoopbackServer::accept_all()
{
    for (;;) {
        const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) {
            return;
        }
        ++connections_;
        const std::scoped_lock lock(mutex_);
        sockets_.push_back(socket);
        threads_.emplace_back([this, socket] {
            WireConnection connection(socket);
            serve_(connection);
            const std::scoped_lock guard(mutex_);
            std::erase(sockets_, socket);
            ::close(socket);
        });
    }
}

std::string reply(int status, std::string_view body, std::string_view more_headers)
{
    return "HTTP/1.1 " + std::to_string(status) + " Status\r\n" +
           "Content-Length: " + std::to_string(body.size()) + "\r\n" + std::string(more_headers) +
           "\r\n" + std::string(body);
}

std::string chunked_head(std::string_view type)
{
    return "HTTP/1.1 200 OK\r\nContent-Type: " + std::string(type) +
           "\r\nTransfer-Encoding: chunked\r\n\r\n";
}

std::string chunk(std::string_view bytes)
{
    std::array<char, 16> size{};
    const auto end = std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16).ptr;
    return std::string(size.data(), end) + "\r\n" + std::string(bytes) + "\r\n";
}

} // namespace berth::tests
