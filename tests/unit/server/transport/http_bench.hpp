#pragma once

#include "sandbox/base/small_letters.hpp"
#include "server/transport/http_server.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/loopback.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::tests {

struct HttpReceived {
    int status = 0; ///< 0: there was no answer
    std::string head;
    std::string body;

    [[nodiscard]] bool has(const std::string& line) const
    {
        return in_small_letters(head).find("\r\n" + line + "\r\n") != std::string::npos;
    }
};

/// A client that writes and reads by hand.
class HttpPeer {
  public:
    explicit HttpPeer(std::uint16_t port)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        const timeval patience{.tv_sec = 20, .tv_usec = 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        // NOLINTNEXTLINE(*-reinterpret-cast): sockets
        connected_ =
            ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    }

    [[nodiscard]] bool is_connected() const noexcept { return connected_; }

    /// False: the server no longer reads.
    bool say(const std::string& text) const
    {
        std::size_t sent = 0;
        while (sent < text.size()) {
            const auto count =
                ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
            if (count <= 0) {
                return false;
            }
            sent += static_cast<std::size_t>(count);
        }
        return true;
    }

    /// The next answer; its body by length, by chunks or until the end.
    HttpReceived answer(bool to_head = false)
    {
        HttpReceived received;
        const auto end = until("\r\n\r\n");
        if (end == std::string::npos || !ahead_.starts_with("HTTP/1.1 ")) {
            return received;
        }
        received.head = take(end);
        received.status = std::atoi(received.head.c_str() + 9); // NOLINT(cert-err34-c): a test
        const auto small = in_small_letters(received.head);
        constexpr std::string_view length = "\r\ncontent-length: ";
        if (to_head || received.status == 100) {
            return received;
        }
        if (const auto at = small.find(length); at != std::string::npos) {
            received.body = exactly(std::strtoul(small.c_str() + at + length.size(), nullptr, 10));
        } else if (received.has("transfer-encoding: chunked")) {
            received.body = chunks();
        } else {
            while (more()) {
            }
            received.body = take(ahead_.size());
        }
        return received;
    }

    HttpReceived ask(const std::string& text)
    {
        (void)say(text);
        return answer();
    }

    /// Whether the server has closed, with nothing unread before that.
    bool is_closed() { return !more() && !late_ && ahead_.empty(); }

    /// Whether something was sent, or it was closed.
    [[nodiscard]] bool has_news() const
    {
        char byte = 0;
        return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
    }

    std::size_t until(const std::string& mark)
    {
        for (;;) {
            if (const auto at = ahead_.find(mark); at != std::string::npos) {
                return at + mark.size();
            }
            if (!more()) {
                return std::string::npos;
            }
        }
    }

    void leave() { socket_.reset(); }

    void half_close() const { ::shutdown(socket_.get(), SHUT_WR); }

  private:
    bool more()
    {
        std::array<char, 8192> piece{};
        const auto count = ::recv(socket_.get(), piece.data(), piece.size(), 0);
        late_ = count < 0 && errno == EAGAIN;
        ahead_.append(piece.data(), static_cast<std::size_t>(count > 0 ? count : 0));
        return count > 0;
    }

    std::string take(std::size_t size)
    {
        auto text = ahead_.substr(0, size);
        ahead_.erase(0, size);
        return text;
    }

    std::string exactly(std::size_t size)
    {
        while (ahead_.size() < size && more()) {
        }
        return take(size);
    }

    std::string chunks()
    {
        std::string body;
        for (;;) {
            const auto end = until("\r\n");
            if (end == std::string::npos) {
                return body + "<cut>";
            }
            const auto size = std::strtoul(take(end).c_str(), nullptr, 16);
            body += exactly(size);
            (void)exactly(2);
            if (size == 0) {
                return body;
            }
        }
    }

    UniqueFd socket_;
    bool connected_ = false;
    bool late_ = false;
    std::string ahead_;
};

/// Answers by the path.
class PathHandler final : public transport::HttpHandler {
  public:
    transport::HttpAdmission admit(const transport::HttpHead& head,
                                   const transport::HttpSocket& /*socket*/) override
    {
        ++admitted;
        if (head.path == "/admit-throws") {
            throw std::runtime_error("a secret");
        }
        if (head.path == "/forbidden") {
            return {.refusal = refuse(401, "who are you?")};
        }
        return {.account = head.find("x-account") != nullptr ? account : nullptr,
                .context = std::make_shared<std::string>(head.path)};
    }

    transport::HttpAnswer answer(transport::HttpRequest request) override
    {
        ++answered;
        const auto& path = *std::static_pointer_cast<const std::string>(request.context);
        if (path == "/throws") {
            throw std::runtime_error("a secret");
        }
        if (path == "/waits") {
            while (waits) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        }
        transport::HttpAnswer made{.fields = {{"X-Own", "yes"}}, .type = "text/plain"};
        made.then = [this](bool written) { ++(written ? wrote : lost); };
        if (path == "/empty") {
            return {.status = 202};
        }
        if (path == "/last") {
            made.close = true;
        }
        if (path == "/stream") {
            made.stream = [](const auto& write) {
                CHECK(write("one "));
                return std::string("two");
            };
        } else if (path == "/stream-ends") {
            made.stream = [](const auto& write) {
                CHECK(write("one "));
                return std::string();
            };
        } else if (path == "/stream-throws") {
            made.stream = [](const auto& write) -> std::string {
                (void)write("one ");
                throw std::runtime_error("a secret");
            };
        } else if (path == "/endless") {
            made.stream = [this](const auto& write) {
                while (write("more ")) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
                ++ended;
                return std::string();
            };
        } else {
            made.body = request.head.method + ' ' + path + ' ' + request.body;
        }
        return made;
    }

    transport::HttpAnswer refuse(int status, const std::string& reason) override
    {
        return {.status = status, .type = "text/plain", .body = reason};
    }

    std::atomic<int> admitted{0};
    std::atomic<int> answered{0};
    std::atomic<int> wrote{0};
    std::atomic<int> lost{0};
    std::atomic<int> ended{0};
    std::atomic<bool> waits{true};
    std::shared_ptr<std::atomic<std::size_t>> account =
        std::make_shared<std::atomic<std::size_t>>(0);
};

/// A server on a port of loopback.
class HttpBench {
  public:
    explicit HttpBench(const transport::HttpSettings& settings = {})
        : server_(std::make_unique<transport::HttpServer>(listen(), handler, settings)),
          runner_([this] { server_->run(); })
    {
    }

    ~HttpBench()
    {
        handler.waits = false;
        end();
    }

    HttpBench(const HttpBench&) = delete;
    HttpBench& operator=(const HttpBench&) = delete;

    [[nodiscard]] HttpPeer connect() const { return HttpPeer(port_); }

    [[nodiscard]] transport::HttpServer& server() noexcept { return *server_; }

    /// Stops and waits for run().
    void stop()
    {
        server_->stop();
        if (runner_.joinable()) {
            runner_.join();
        }
    }

    /// The server too.
    void end()
    {
        if (server_) {
            stop();
            server_.reset();
        }
    }

    PathHandler handler;

  private:
    UniqueFd listen()
    {
        auto [listener, address] = listening_on_loopback(128, SOCK_NONBLOCK);
        port_ = ntohs(address.sin_port);
        return std::move(listener);
    }

    std::uint16_t port_ = 0;
    std::unique_ptr<transport::HttpServer> server_;
    std::jthread runner_;
};

/// A request without a body, but what `lines` and `after` say.
inline std::string http_request(const std::string& path, const std::string& lines = "",
                                const std::string& after = "", const std::string& method = "POST",
                                const std::string& version = "HTTP/1.1")
{
    return method + " " + path + " " + version + "\r\nHost: localhost\r\n" + lines + "\r\n" + after;
}

inline std::string http_post(const std::string& path, const std::string& body)
{
    return http_request(path, "Content-Length: " + std::to_string(body.size()) + "\r\n", body);
}

} // namespace berth::tests
