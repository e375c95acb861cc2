#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/cgroup_layout.hpp"

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace berth::local {

/// Whether it is certain that no process listens at this socket: there is none, or the kernel
/// refuses the connection. A busy guest, or one that does not answer, listens.
[[nodiscard]] bool nobody_listens(const std::string& socket_path) noexcept;

struct Listener {
    pid_t pid = -1; ///< -1: none
    std::uint64_t start_time = 0;
};

/// The process that listens at this socket: pid 1 of the machine, for a record that does not know
/// it.
[[nodiscard]] Listener listener_at(const std::string& socket_path) noexcept;

/// Where the socket of a machine of that id will be that is about to be made. Its folder is there,
/// and the socket is not, whoever made one: who removes stale sockets would else take the new,
/// still empty cgroups for those of the old one. Throws as renew_runtime_folder().
[[nodiscard]] std::string place_of_socket(const std::string& runtime_folder, const std::string& id);

/// Listens at a socket that this makes in the runtime folder, unless somebody removes stale ones
/// there: one that is made and not listened at yet would be taken for one. Throws
/// std::system_error: EBUSY where another berth, which was stopped, holds the folder.
[[nodiscard]] UniqueFd listen_beside_stale(const std::string& path);

/// Removes the sockets in the runtime folder that nobody listens at, of whatever state directory,
/// and the empty cgroups of the same machines. Between making a socket and listening at it the
/// launcher and listen_beside_stale() hold a lock on the folder, so one that is being made is not
/// taken for a stale one.
void remove_stale_sockets(const std::string& runtime_folder, const CgroupLayout& cgroups,
                          const Deadline& deadline);

} // namespace berth::local
