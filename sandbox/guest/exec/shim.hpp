#pragma once

#include "sandbox/protocol/user_ids.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <linux/filter.h>
#include <sys/types.h>

namespace berth::guest {

// Between the guest and each command's shell stands a shim: a child of the guest that was never
// exec'ed. It is
//   - a subreaper: whatever the command double-forks or detaches stays below it, so "everything
//     below the shim" is the command, and a shim that ends says that nothing of it is left;
//   - the shell's partner in CLONE_FS: the working directory of the two is one and the same, so
//     where the shell was is known after it has ended (docs/adr/0005-working-directory.md).
// It cannot be traced or read by the command (not dumpable), but it can be killed; the guest then
// inherits what it left.

/// What the shim needs, made by the guest before the clone: after it only async-signal-safe calls
/// are possible (the guest has threads). All descriptors are above 3; -1 is "none".
struct ShimPlan {
    const char* program = nullptr;
    char* const* arguments = nullptr;
    char* const* environment = nullptr;
    const char* workdir = nullptr;

    int report = -1;
    int input = -1; ///< /dev/null, or the memfd that takes `input_text`
    int output = -1;
    int error = -1;
    int script = -1; ///< memfd that takes `script_text`; the shell has it as 3
    std::string_view input_text;
    std::string_view script_text;
    std::span<const int> v1_tasks;

    std::uint64_t limit_nofile = 0; ///< 0: as inherited
    std::uint64_t limit_nproc = 0;
    std::uint64_t limit_fsize = 0;
    std::uint64_t soft_limit_fsize = 0;
    const sock_fprog* filter = nullptr; ///< of the shell and all that it starts, if any
    /// Whom a guest that is root runs the shell as; null: as itself.
    const protocol::UserIds* run_as = nullptr;
};

enum class ShimStep : std::uint32_t { none, cgroup, input, fork, workdir, user, filter, exec };

enum class ReportKind : std::uint32_t { failed, started, ended, settled };

/// What comes through the shim's pipe: `started`, unless it `failed` (either or both, when exec
/// fails); then `ended`, with `cwd_size`
/// bytes of path behind it, before it reaps the shell (so that a shell whose shim is killed is seen
/// by the guest at least); then `settled`. The pipe closes once nothing is left below the shim.
struct ShimReport {
    ReportKind kind = ReportKind::failed;
    ShimStep step = ShimStep::none;
    std::int32_t error = 0;
    pid_t shell = -1;
    std::int32_t status = 0;       ///< waitpid's encoding
    std::uint32_t moved = 0;       ///< the shell ended in another directory than it began in
    std::uint32_t children = 0;    ///< it left something behind
    std::uint64_t peak_memory = 0; ///< bytes, the largest process among shell and awaited ones
    std::uint64_t cpu_time = 0;    ///< microseconds, the shell and what it waited for
    std::uint64_t cwd_size = 0;    ///< 0: it has no path, `error` says why
};

inline constexpr std::size_t max_cwd = 4096;

/// As the process table shows it.
inline constexpr const char* shim_name = "berth-shim";

/// The life of the shim, in the child of a fork-like clone.
[[noreturn]] void run_shim(const ShimPlan& plan) noexcept;

} // namespace berth::guest
