#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/channel.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace berth::sandbox {

/// A listening unix socket at `path`, mode 0600, non-blocking and close-on-exec; a file that is
/// there already is replaced. The path may be longer than the 107 bytes of a sockaddr_un. Throws
/// std::system_error.
[[nodiscard]] UniqueFd listen_unix(const std::string& path);

/// A connection to it, blocking and close-on-exec. Throws Error(session_lost) when nobody listens
/// there, Error(backend_error) when the deadline passes first or for any other reason.
[[nodiscard]] UniqueFd connect_unix(const std::string& path, const Deadline& deadline);

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
