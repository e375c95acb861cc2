#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/rules.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

namespace berth::tests {

/// To the end.
inline std::string received(int socket)
{
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t size = ::recv(socket, buffer.data(), buffer.size(), 0);
        if (size <= 0) {
            return text;
        }
        text.append(buffer.data(), static_cast<std::size_t>(size));
    }
}

/// And where that is.
inline std::pair<UniqueFd, sockaddr_in> listening_on_loopback()
{
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener.get(), place, size) == 0);
    REQUIRE(::listen(listener.get(), 64) == 0);
    REQUIRE(::getsockname(listener.get(), place, &size) == 0);
    return {std::move(listener), address};
}

inline filter::Rules open_loopback()
{
    return {{"127.0.0.1:*"}, {}, {"127.0.0.1"}};
}

} // namespace berth::tests
