#pragma once

#include "sandbox/filter/rules.hpp"
#include "tests/unit/loopback.hpp"

#include <array>
#include <string>

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

inline filter::Rules open_loopback()
{
    return {{"127.0.0.1:*"}, {}, {"127.0.0.1"}};
}

} // namespace berth::tests
