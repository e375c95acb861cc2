#pragma once

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
};

} // namespace berth::rpc
