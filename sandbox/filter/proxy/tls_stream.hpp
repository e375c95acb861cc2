#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/filter/proxy/stream.hpp"

#include <openssl/types.h>

#include <memory>
#include <string>

namespace berth::filter {

struct FreeTls {
    void operator()(SSL* tls) const noexcept;
};

using Tls = std::unique_ptr<SSL, FreeTls>;

/// TLS over a socket, as a client or a server of it.
class TlsStream final : public Stream {
  public:
    /// `tls`: set up for its side, without a connection. `received`: what has come from the socket
    /// already. The socket is non-blocking. Throws std::bad_alloc.
    TlsStream(Tls tls, int socket, std::string received);
    ~TlsStream() override;
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    /// Empty: it is done. Else why not, in words; alerts of the other side are named as such.
    [[nodiscard]] std::string shake_hands(const Deadline& deadline);

    /// Of a handshake that has failed: what is wrong with the other side's certificate; empty:
    /// nothing.
    [[nodiscard]] std::string wrong_certificate() const;

    [[nodiscard]] int descriptor() const noexcept override;
    [[nodiscard]] Moved receive(std::span<char> buffer) noexcept override;
    [[nodiscard]] Moved send(std::string_view bytes) noexcept override;
    [[nodiscard]] short events(short wanted) const noexcept override;
    [[nodiscard]] bool has_more() const noexcept override;
    void end() noexcept override;

  private:
    struct Socket;

    std::unique_ptr<Socket> socket_; ///< outlives tls_, which reads by it
    Tls tls_;
    bool reading_sends_ = false; ///< what was to be received waits for room to send
};

} // namespace berth::filter
