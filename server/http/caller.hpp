#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace berth::server::http {

/// What all requests of one principal have together, whatever token they come with.
struct Account {
    std::atomic<std::size_t> bodies{0}; ///< bytes that are held
    std::atomic<std::size_t> calls{0};  ///< requests that are being answered
};

/// Who has sent a request: decided by a token, or by the socket it came from, and by nothing that
/// the request says beside. Immutable.
struct Caller {
    std::string principal;
    /// By key of the table (definitions.hpp): what holds for this caller before flags, environment
    /// and file, as its profile. It cannot choose them.
    std::map<std::string, std::string> settings{};
    std::string origin{};   ///< where that was said, as in error messages
    std::size_t calls = 64; ///< at once, of the principal
    std::shared_ptr<Account> account{};
};

} // namespace berth::server::http
