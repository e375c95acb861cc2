#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/proxy/reporter.hpp"
#include "sandbox/filter/rules.hpp"
#include "sandbox/filter/secret_book.hpp"

namespace berth::filter {

class Interception;
class SendAllowance;

/// What connections of a session are served by. Outlives them.
struct Service {
    const Rules& rules;
    const SecretBook& secrets;
    const Reporter& reporter;
    /// Null: TLS is opened to no place.
    const Interception* interception = nullptr;
    /// Null: the session may send as much as it likes.
    SendAllowance* allowance = nullptr;
};

/// Serves one connection of the sandbox to its end: HTTP, CONNECT or SOCKS 5, as its first byte
/// says. Every wait in it is bounded.
void serve_client(UniqueFd socket, const Service& service) noexcept;

} // namespace berth::filter
