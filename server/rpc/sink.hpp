#pragma once

#include <string>

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
};

} // namespace berth::rpc
