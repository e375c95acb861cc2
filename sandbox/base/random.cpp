#include "sandbox/base/random.hpp"

#include "sandbox/base/error.hpp"

#include <cerrno>

#include <sys/random.h>

namespace berth {

std::string random_hex(std::size_t bytes)
{
    std::string raw(bytes, '\0');
    // Up to 256 bytes come whole; only the wait for the first seed of a booting host can be
    // interrupted.
    while (::getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(raw.size())) {
        if (errno != EINTR) {
            throw_errno("getrandom");
        }
    }
    constexpr const char* digits = "0123456789abcdef";
    std::string hex;
    hex.reserve(bytes * 2);
    for (const char c : raw) {
        const auto byte = static_cast<unsigned char>(c);
        hex += digits[byte >> 4U];
        hex += digits[byte & 15U];
    }
    return hex;
}

} // namespace berth
