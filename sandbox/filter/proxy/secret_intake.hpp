#pragma once

#include "sandbox/filter/secret_book.hpp"

#include <cstdint>

namespace berth::filter {

/// Takes the values of secrets from the servers of a session (policy.hpp), one connection after the
/// other, for as long as the process lives. `listener`: of a unix socket. Whoever is neither root
/// nor `server` brings none: that would have the sandbox send what he likes in the place of a
/// secret.
[[noreturn]] void take_secrets(int listener, std::uint32_t server, SecretBook& secrets) noexcept;

/// One connection. False where nothing of it was taken.
bool take_secrets_from(int connection, std::uint32_t server, SecretBook& secrets) noexcept;

} // namespace berth::filter
