#pragma once

#include "sandbox/protocol/guest_config.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace berth::guest {

/// Reads the config from `fd`, a memfd or a file, and closes it. What held the bytes is wiped.
/// Throws berth::Error or WireError when it is not a config, or names a descriptor that is not
/// open.
[[nodiscard]] protocol::GuestConfig read_config(int fd);

/// Makes every descriptor of the config close-on-exec and closes all others above 2; 0 to 2 are
/// opened on /dev/null where they are not open.
void keep_only_descriptors_of(const protocol::GuestConfig& config);

/// What this process is from here on: not dumpable, the parent of every orphan of the session, all
/// signals blocked, a heap that gives memory back; and without new privileges, unless `run_as` is
/// given: then it works as that user, and nothing but its real ids is root's any more. Throws
/// std::system_error.
void confine_process(const std::optional<protocol::UserIds>& run_as);

/// What is not in use any more of the stack and the heap goes back. Of the main thread.
void release_idle_memory() noexcept;

/// The home and the spill directory, parents included.
void make_directories(const protocol::GuestConfig& config);

} // namespace berth::guest
