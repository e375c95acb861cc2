#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::local::cgroup {

// The steps of making a session's cgroups, of either version. Failures are thrown as Failure.

inline constexpr std::string_view cpu_period = "100000"; ///< microseconds

/// <base>/berth/<name>
[[nodiscard]] std::string session_path(const std::string& base, const CgroupSpec& spec);

/// Makes that folder. What an interrupted launch of this very session has left there is ended: the
/// caller holds the session's lock, so nobody else can be making it.
[[nodiscard]] std::string make_session_directory(const std::string& base, const CgroupSpec& spec);

void make_directory(const std::string& path);
void write(const std::string& path, std::string_view value);
bool try_write(const std::string& path, std::string_view value);
[[nodiscard]] UniqueFd open_file(const std::string& path, int flags);

/// Microseconds of each period.
[[nodiscard]] std::uint64_t cpu_quota(double cpus);

/// What a session's cgroup has beside the others' where together they want more than the host has,
/// its guest included, which alone may use a whole processor: in proportion to its processors.
/// One processor is what a cgroup has by default, in v2 (cpu.weight) and v1 (cpu.shares).
[[nodiscard]] std::uint64_t cpu_weight(std::uint64_t quota);
[[nodiscard]] std::uint64_t cpu_shares(std::uint64_t quota);

/// The same of the disk, in v2, where the controller is enabled and what queues for the disk knows
/// weights: io.cost (io.weight), or the scheduler BFQ with a file of its own.
void weigh_disk(const std::string& session, std::uint64_t quota);

/// The guest searches files for the session, so it may take as much CPU time as a command; at least
/// one whole processor, because all calls wait for it.
[[nodiscard]] std::uint64_t guest_quota(std::uint64_t commands);

} // namespace berth::local::cgroup
