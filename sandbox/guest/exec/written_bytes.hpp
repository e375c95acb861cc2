#pragma once

#include <cstdint>
#include <string_view>

#include <sys/types.h>

namespace berth::guest {

/// What a process and its children that it has waited for have had written to disks, as
/// /proc/<pid>/io tells (proc_pid_io(5), write_bytes). 0 where the kernel does not count it or does
/// not show it, and of a tmpfs.
[[nodiscard]] std::uint64_t written_bytes(pid_t pid);

/// `text`: the whole of /proc/<pid>/io.
[[nodiscard]] std::uint64_t parse_written_bytes(std::string_view text) noexcept;

} // namespace berth::guest
