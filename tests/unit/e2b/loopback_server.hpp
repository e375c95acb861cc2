#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/e2b/endpoint.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace berth::tests {

/// When a test that waits for its server gives up.
inline Deadline soon()
{
    return Deadline::after(std::chrono::seconds(30));
}

/// A request as it came over the wire.
struct WireRequest {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers; ///< names in small letters
    std::string body;                           ///< without its chunks
    std::string raw_head;

    [[nodiscard]] std::string header(const std::string& name) const;
};

/// One connection that a client made, in bytes: nothing here knows more of HTTP than it must.
class WireConnection {
  public:
    explicit WireConnection(int socket) noexcept : socket_(socket) {}

    /// The next request; nothing when the client has gone, in the middle of one too.
    [[nodiscard]] std::optional<WireRequest> request();

    /// Only the head of it.
    [[nodiscard]] std::optional<WireRequest> request_head();

    /// More bytes of the body; empty: the client has gone.
    [[nodiscard]] std::string some();

    void send(std::string_view bytes);

    /// Says that nothing more will be sent.
    void finish() noexcept;

    /// Ends it with a reset in place of an end.
    void reset() noexcept;

    /// Waits until the client has gone.
    void wait_for_end();

    [[nodiscard]] int socket() const noexcept { return socket_; }

  private:
    [[nodiscard]] bool more();

    int socket_;
    std::string bytes_;
};

/// A server of a test on a free port of the loopback. Each connection has a thread, which runs
/// `serve` and closes it then. Ends all of them when it goes.
class LoopbackServer {
  public:
    using Serve = std::function<void(WireConnection&)>;
    using Answer = std::function<std::string(const WireRequest&)>;

    explicit LoopbackServer(Serve serve);

    /// One that answers each request of a connection, or ends that where the answer is empty.
    [[nodiscard]] static Serve answering(Answer answer);

    LoopbackServer(const LoopbackServer&) = delete;
    LoopbackServer& operator=(const LoopbackServer&) = delete;
    ~LoopbackServer();

    [[nodiscard]] e2b::Endpoint endpoint() const;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    /// How many connections were made.
    [[nodiscard]] std::size_t connections() const noexcept { return connections_; }

  private:
    void accept_all();

    Serve serve_;
    UniqueFd listener_;
    std::uint16_t port_ = 0;
    std::atomic<std::size_t> connections_ = 0;
    std::mutex mutex_;
    std::vector<int> sockets_; ///< guarded
    std::vector<std::thread> threads_;
    std::thread acceptor_;
};

/// An answer with its length.
[[nodiscard]] std::string reply(int status, std::string_view body,
                                std::string_view more_headers = "");

/// The head of an answer in chunks, a chunk, and the end of them.
[[nodiscard]] std::string chunked_head(std::string_view type);
[[nodiscard]] std::string chunk(std::string_view bytes);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

} // namespace berth::tests
