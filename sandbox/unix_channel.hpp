#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/channel.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace berth::sandbox {

/// A channel over a connected unix stream socket.
class UnixChannel : public Channel {
  public:
    explicit UnixChannel(UniqueFd socket) noexcept : socket_(std::move(socket)) {}

    void send(std::string_view bytes) override;
    std::size_t receive(char* data, std::size_t size, const Deadline& deadline) override;
    void shutdown() noexcept override;
    void hang_up(const Deadline& deadline) noexcept override;

  private:
    UniqueFd socket_;
};

} // namespace berth::sandbox
