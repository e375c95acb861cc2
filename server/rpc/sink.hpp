#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace berth::rpc {

/// Where messages go. Thread-safe; a message is never interleaved with another.
class Sink {
  public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;

    /// One whole message, without framing. A peer that is gone is no error: the transport notices
    /// by itself.
    virtual void send(std::string message) noexcept = 0;

    /// As send(), for what may be left out: false, and nothing was sent, where the peer does not
    /// read and it would have to be waited for. Only a message longer than PIPE_BUF may wait.
    virtual bool offer(std::string message) noexcept
    {
        send(std::move(message));
        return true;
    }

    /// Keeps room for so many bytes more of an answer, until that has left. False: there is none.
    [[nodiscard]] virtual bool hold(std::size_t /*bytes*/) { return true; }

    /// Runs `then` once the peer has read all that was sent so far, or at once where that cannot be
    /// told; on any thread, also on this one. `lost` instead, where it is known that the peer never
    /// will and others go on; both are dropped where the peer's end is that of all. Either may come
    /// long after the call, and hold nothing that may be gone by then.
    virtual void when_read(std::function<void()> then, std::function<void()> lost = {})
    {
        lost = nullptr;
        std::exchange(then, nullptr)();
    }
};

} // namespace berth::rpc
