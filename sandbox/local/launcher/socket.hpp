#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <string>
#include <utility>

namespace berth::local {

inline constexpr int listen_backlog = 128;

/// The guest's socket, bound on the host side. Its file is removed by the destructor unless keep()
/// was called.
class ListenSocket {
  public:
    /// Throws Failure.
    explicit ListenSocket(std::string path);
    ~ListenSocket();
    ListenSocket(const ListenSocket&) = delete;
    ListenSocket& operator=(const ListenSocket&) = delete;

    /// In the same folder, in the place of what has that name. False when that cannot be.
    [[nodiscard]] bool rename(const std::string& path) noexcept;

    void keep() noexcept { kept_ = true; }

    /// It can be taken once.
    [[nodiscard]] UniqueFd take() noexcept { return std::move(socket_); }

  private:
    [[nodiscard]] const char* name() const noexcept;

    std::string path_;
    UniqueFd folder_;
    UniqueFd socket_;
    bool kept_ = false;
};

} // namespace berth::local
