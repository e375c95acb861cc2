#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/server.hpp"
#include "sandbox/guest/workers.hpp"
#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/hello.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/protocol/wire.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

namespace berth::test {

/// A server of the guest with its loop on a thread, and a way to its socket.
class GuestServer {
  public:
    explicit GuestServer(guest::Server::Handler handler,
                         const guest::PayloadBudget::Limits& limits = {},
                         guest::Credentials credentials = {.token = "secret", .generation = "g1"})
    {
        UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        // Bound to a free abstract name, so that nothing is left on the disk.
        sockaddr_un any{};
        any.sun_family = AF_UNIX;
        REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&any), sizeof(sa_family_t)) ==
                0);
        size_ = sizeof(address_);
        ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address_), &size_);
        REQUIRE(::listen(listener.get(), 32) == 0);
        server_.emplace(loop_, std::move(listener), std::move(credentials), std::move(handler),
                        limits);
        server_->on_clients_changed([this] { ++client_changes_; });
        server_->on_unseen_wanted([this] { return unseen_.load(); });
        thread_ = std::thread([this] { loop_.run(); });
    }

    ~GuestServer()
    {
        loop_.stop();
        thread_.join();
        server_.reset();
    }

    GuestServer(const GuestServer&) = delete;
    GuestServer& operator=(const GuestServer&) = delete;

    [[nodiscard]] UniqueFd connect() const
    {
        UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address_), size_) == 0);
        return fd;
    }

    std::size_t connections()
    {
        std::promise<std::size_t> count;
        loop_.post([&] { count.set_value(server_->connections()); });
        return count.get_future().get();
    }

    std::size_t clients()
    {
        std::promise<std::size_t> count;
        loop_.post([&] { count.set_value(server_->clients()); });
        return count.get_future().get();
    }

    void stop_reading()
    {
        std::promise<void> done;
        loop_.post([&] {
            server_->stop_reading();
            done.set_value();
        });
        done.get_future().wait();
    }

    /// How often the server has told that one came or left.
    [[nodiscard]] int client_changes() const { return client_changes_; }

    /// Whether there are outcomes that nobody was told of.
    void set_unseen(bool any) { unseen_ = any; }

    /// One more has come that is no departure's.
    void note_unseen()
    {
        std::promise<void> done;
        loop_.post([&] {
            server_->note_unseen();
            done.set_value();
        });
        done.get_future().wait();
    }

    guest::EventLoop& loop() { return loop_; }

    /// For handlers. They end before the loop that their calls report to.
    guest::Workers& workers() const { return workers_; }

  private:
    guest::EventLoop loop_;
    mutable guest::Workers workers_;
    sockaddr_un address_{};
    socklen_t size_ = 0;
    std::atomic<int> client_changes_ = 0;
    std::atomic<bool> unseen_ = false;
    std::optional<guest::Server> server_;
    std::thread thread_;
};

inline protocol::Hello good_hello()
{
    return {.oldest = 1, .newest = 1, .build = "test", .token = "secret", .generation = "g1"};
}

/// The host's end of a connection, as raw as a test wants it.
class Peer {
  public:
    explicit Peer(UniqueFd fd) : fd_(std::move(fd))
    {
        const timeval patience{.tv_sec = 10, .tv_usec = 0};
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    }

    /// One that has said hello.
    static Peer greeted(const GuestServer& server)
    {
        Peer peer(server.connect());
        peer.send(protocol::FrameType::hello, protocol::encode(good_hello()));
        const auto reply = peer.receive();
        REQUIRE(reply.has_value());
        REQUIRE(reply->type == protocol::FrameType::hello_reply);
        return peer;
    }

    void send_bytes(std::string_view bytes) const
    {
        while (!bytes.empty()) {
            const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) {
                return;
            }
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    void send(protocol::FrameType type, std::string_view payload, std::uint16_t operation = 0,
              std::uint8_t flags = 0) const
    {
        std::string bytes;
        protocol::put_frame(bytes, type, payload, operation, flags);
        send_bytes(bytes);
    }

    /// Nothing at the end of the stream.
    std::optional<protocol::Frame> receive()
    {
        for (;;) {
            if (auto frame = reader_.next()) {
                return frame;
            }
            std::string buffer(64UL * 1024, '\0');
            const auto size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
            if (size <= 0) {
                CHECK_MESSAGE((size == 0 || errno != EAGAIN), "no answer in time");
                return std::nullopt;
            }
            reader_.feed({buffer.data(), static_cast<std::size_t>(size)});
        }
    }

    /// The code of the error frame that must come next.
    std::string receive_error()
    {
        const auto frame = receive();
        if (!frame || frame->type != protocol::FrameType::error) {
            return "no error frame";
        }
        return protocol::decode<protocol::ErrorMessage>(frame->payload).code;
    }

    void close() { fd_.reset(); }

    /// Ends what another thread is sending, too.
    void shut_down() const { ::shutdown(fd_.get(), SHUT_RDWR); }

  private:
    UniqueFd fd_;
    protocol::FrameReader reader_{protocol::max_payload_size};
};

} // namespace berth::test
