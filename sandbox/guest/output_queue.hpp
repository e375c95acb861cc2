#pragma once

#include "sandbox/protocol/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace berth::guest {

/// Frames on their way to one socket. A large payload is sent from where it is, not copied.
class OutputQueue {
  public:
    void push(protocol::FrameType type, std::string payload, std::uint8_t flags = 0);

    enum class Result : unsigned char { empty, blocked, broken };

    /// Sends what the socket takes without waiting.
    [[nodiscard]] Result flush(int socket);

    [[nodiscard]] bool empty() const noexcept { return chunks_.empty(); }

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  private:
    void drop_front(std::size_t sent);

    std::deque<std::string> chunks_;
    std::size_t offset_ = 0; ///< what is sent of the first chunk
    std::size_t bytes_ = 0;
};

} // namespace berth::guest
