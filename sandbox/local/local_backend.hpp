#pragma once

#include "sandbox/backend.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace berth::local {

/// What the backend needs to know of this installation and this operator.
struct Settings {
    std::string guest_program;    ///< the installed berth-guest
    std::string launcher_program; ///< the installed berth-launcher
    std::string proxy_program;    ///< the installed berth-proxy, of filtered networks
    /// Who certifies the servers to which proxies open TLS, a file (SSL_CERT_FILE); empty: whom
    /// this host trusts.
    std::string certificates{};
    /// The guest is the one that the launcher has in it, a program start less, where this host
    /// allows that; guest_program only elsewhere.
    bool guest_in_launcher = false;
    std::string state_directory; ///< <state>: machines live in <state>/sessions/<key hash>
    std::string workspace;       ///< its directory, which no sandbox may see; empty: none
    /// root only: host uids for sessions, one each, first and how many
    unsigned uid_base = 2'000'000;
    unsigned uid_count = 100'000;
    /// After so long a host where no sandbox could be made is looked at again.
    std::chrono::milliseconds look_again = std::chrono::seconds(5);
};

/// Machines made of Linux namespaces on this host. Works as root and as an ordinary user.
[[nodiscard]] std::unique_ptr<sandbox::Backend> make_backend(Settings settings);

} // namespace berth::local
