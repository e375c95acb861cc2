#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <doctest/doctest.h>

#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

namespace berth::tests {

/// And where that is; `flags`: of the socket, beside close-on-exec.
inline std::pair<UniqueFd, sockaddr_in> listening_on_loopback(int backlog = 64, int flags = 0)
{
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const raw = reinterpret_cast<sockaddr*>(&address); // NOLINT(*-reinterpret-cast)
    REQUIRE(::bind(listener.get(), raw, size) == 0);
    REQUIRE(::listen(listener.get(), backlog) == 0);
    REQUIRE(::getsockname(listener.get(), raw, &size) == 0);
    return {std::move(listener), address};
}

} // namespace berth::tests
