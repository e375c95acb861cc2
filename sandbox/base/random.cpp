#include "sandbox/base/random.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/hex.hpp"

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
    return hex_of(raw);
}

} // namespace berth
