#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>

namespace berth::fuzz {

/// Both ends of a connection on this host, which one thread uses in turn: what is sent through it
/// has room in its buffer, or this would wait for itself.
class Connection {
  public:
    Connection()
    {
        int pair[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
            throw_errno("socketpair");
        }
        client_ = UniqueFd(pair[0]);
        server_ = UniqueFd(pair[1]);
    }

    /// The server's end, once.
    [[nodiscard]] UniqueFd take_server() noexcept { return std::move(server_); }

    void send(std::string_view bytes) const
    {
        if (!bytes.empty() &&
            ::send(client_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
                static_cast<ssize_t>(bytes.size())) {
            throw_errno("send");
        }
    }

    /// What the server has said since.
    [[nodiscard]] std::string received() const
    {
        std::string all;
        std::array<char, 16384> piece{};
        for (;;) {
            const auto count = ::recv(client_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
            if (count <= 0) {
                return all;
            }
            all.append(piece.data(), static_cast<std::size_t>(count));
        }
    }

  private:
    UniqueFd client_;
    UniqueFd server_;
};

} // namespace berth::fuzz
