#pragma once

#include <exception>
#include <optional>
#include <string>

namespace berth {

/// A limit of the host that the server itself met: what it is and what raises it.
struct HostLimit {
    std::string reason;
    std::string remedy;
};

/// Of an errno of the server or of a launcher: EAGAIN of a new process or thread, EMFILE, ENFILE;
/// EFBIG and ENOMEM where this process has a limit that says so. EAGAIN of a thread whose stack has
/// no room is told as that. Nothing for any other. Not for what a session met: its own limits are
/// others.
[[nodiscard]] std::optional<HostLimit> host_limit(int error);

/// Of a std::system_error its code's; std::bad_alloc is ENOMEM.
[[nodiscard]] std::optional<HostLimit> host_limit(const std::exception& error);

/// That `ulimit -s` leaves this process too little stack: it would end by SIGSEGV, since its
/// threads get no more either. To be asked before anything that needs some. Nothing where there is
/// enough.
[[nodiscard]] std::optional<HostLimit> small_stack();

/// That `ulimit -t` would soon end this process and the guests that it makes, which live on and
/// serve others: too few seconds, and this process may not raise them. Nothing where there are
/// enough.
[[nodiscard]] std::optional<HostLimit> little_time();

} // namespace berth
