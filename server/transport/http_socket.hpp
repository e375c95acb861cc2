#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "server/transport/http_traffic.hpp"
#include "server/transport/unread.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace berth::transport {

/// One connection of an HTTP client. Used by one thread at a time, but for unread() and
/// break_off(), which any thread may call. Its descriptor lives as long as the object, so that no
/// late look at it meets another connection's.
class HttpSocket {
  public:
    /// What a peer may take to read a piece of an answer: then it is taken for gone.
    static constexpr std::chrono::milliseconds write_time{30'000};

    /// `traffic`: counts what goes over it, and outlives it; null: nobody does.
    explicit HttpSocket(UniqueFd socket, HttpTraffic* traffic = nullptr,
                        std::chrono::milliseconds patience = write_time);

    ~HttpSocket();
    HttpSocket(const HttpSocket&) = delete;
    HttpSocket& operator=(const HttpSocket&) = delete;

    enum class Head : unsigned char {
        whole,
        closed,   ///< before its first byte
        late,     ///< the deadline came first, or the peer closed in the middle
        too_long, ///< above the limit
    };

    /// The bytes up to the empty line that ends a head, which included. What follows stays for
    /// read(). Empty lines before it are skipped, as RFC 9112 2.2 asks.
    [[nodiscard]] Head read_head(std::string& head, std::size_t limit, const Deadline& deadline);

    /// Until when read() waits, all calls of it together.
    void set_read_deadline(const Deadline& deadline) noexcept { read_deadline_ = deadline; }

    /// Waits for at least one byte. 0: the peer has closed; -1: too late, or broken.
    [[nodiscard]] ssize_t read(char* data, std::size_t size);

    /// False: the peer is gone, or has read nothing for as long as it may.
    bool write(std::string_view data);

    /// Whether something was read that is not taken yet.
    [[nodiscard]] bool has_more() const noexcept { return taken_ < ahead_.size(); }

    /// Whether the peer has closed its side. One that half-closes and still reads looks the same,
    /// and no client of MCP does.
    [[nodiscard]] bool is_gone() const noexcept;

    /// Says that nothing more comes and takes what the peer still sends, for a moment: bytes that
    /// nobody reads make the kernel reset the connection, and the answer would be lost on its way.
    /// On a socket of this host, where something waits for what was written to be read, the peer
    /// then has as long for that as for a piece of an answer.
    void linger();

    /// What is read or written from here on fails, in whatever thread.
    void break_off() noexcept;

    [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

    [[nodiscard]] Unread& unread() noexcept { return unread_; }

    /// Of a peer on a socket of this host.
    [[nodiscard]] std::optional<uid_t> peer_user() const noexcept;

  private:
    [[nodiscard]] ssize_t receive(char* data, std::size_t size, const Deadline& deadline);
    [[nodiscard]] ssize_t read_ahead(const Deadline& deadline);
    void take_rest();
    void wait_for_reader();
    void note_reset(int error) noexcept;
    void shut(int sides) noexcept;

    UniqueFd socket_;
    HttpTraffic* traffic_;
    std::chrono::milliseconds patience_;
    Unread unread_;
    std::string ahead_;     ///< what was read
    std::size_t taken_ = 0; ///< so much of it
    Deadline read_deadline_;
};

} // namespace berth::transport
