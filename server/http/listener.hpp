#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "server/options/options.hpp"

#include <optional>
#include <string>

#include <sys/types.h>

namespace berth::server::http {

/// A socket that listens, and how clients name it.
struct Listener {
    struct File {
        std::string path;
        dev_t device = 0;
        ino_t inode = 0;
    };

    UniqueFd socket;
    std::string address;        ///< of the host it is on; empty: a unix socket
    std::string url;            ///< http://127.0.0.1:8931/mcp, or unix:PATH
    std::optional<File> file{}; ///< of a unix socket
};

/// By `--http` or `--unix`. A socket file that nobody listens on any more is replaced. Throws Error
/// that says what to do: the port is taken, another server listens there, the file is something
/// else.
[[nodiscard]] Listener listen_on(const HttpOptions& options);

/// Removes its socket file, unless another has taken that place: whoever has removed the file may
/// have begun another server there. While its socket is open: no other file is the same till then.
void remove_file(const Listener& listener) noexcept;

} // namespace berth::server::http
