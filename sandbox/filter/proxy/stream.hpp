#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace berth::filter {

/// A connection of which bytes are moved without waiting. The descriptor stays the caller's. Used
/// by one thread.
class Stream {
  public:
    enum class Outcome : std::uint8_t {
        moved,
        later,  ///< nothing now: poll for events()
        ended,  ///< of what is received: the other side has said that nothing more comes
        cut,    ///< nothing more comes, and the other side has not said so, as it should
        closed, ///< of what is sent: the other side takes no more, and is still heard out
        broken, ///< told once, to whoever comes first: what is received may then just end
    };

    struct Moved {
        Outcome outcome = Outcome::later;
        std::size_t size = 0;
    };

    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    virtual ~Stream() = default;

    [[nodiscard]] virtual int descriptor() const noexcept = 0;

    /// As many as there are, one at least.
    [[nodiscard]] virtual Moved receive(std::span<char> buffer) noexcept = 0;

    /// Of `later` the next attempt begins with the same bytes.
    [[nodiscard]] virtual Moved send(std::string_view bytes) noexcept = 0;

    /// What poll(2) has to be asked for by whoever wants to receive (POLLIN), send (POLLOUT) or
    /// both.
    [[nodiscard]] virtual short events(short wanted) const noexcept { return wanted; }

    /// There is something to receive of which poll(2) knows nothing.
    [[nodiscard]] virtual bool has_more() const noexcept { return false; }

    /// Says that nothing more is sent.
    virtual void end() noexcept = 0;
};

/// Bytes as they are.
class PlainStream final : public Stream {
  public:
    /// Non-blocking.
    explicit PlainStream(int socket) noexcept : socket_(socket) {}

    [[nodiscard]] int descriptor() const noexcept override { return socket_; }

    [[nodiscard]] Moved receive(std::span<char> buffer) noexcept override;
    [[nodiscard]] Moved send(std::string_view bytes) noexcept override;
    void end() noexcept override;

  private:
    int socket_;
};

/// Ends this side of its connection, below TLS, and throws away what still comes, for some seconds:
/// a socket that is closed with bytes unread is reset, and the other side, which may be sending
/// still, loses what it was told last.
void take_leave(const Stream& stream) noexcept;

/// Has the other side hear that its connection broke, below TLS: it is reset when its socket is
/// closed, which has to be next. Before that what was sent is waited for, as long as some of it
/// arrives every few seconds, and whoever is sending still is heard out, for some seconds in all: a
/// reset takes both away.
void break_off(const Stream& stream) noexcept;

} // namespace berth::filter
