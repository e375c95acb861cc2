#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace berth::guest {

/// The cgroup v2 of one command: a directory below the session's `cmds`. Removed by remove(), not
/// by the destructor: what runs in it may outlive the call.
class CommandCgroup {
  public:
    /// Throws std::system_error. `name` must be a single plain component.
    CommandCgroup(int parent, const std::string& name);

    /// For CLONE_INTO_CGROUP.
    [[nodiscard]] int fd() const noexcept { return directory_.get(); }

    /// Whether anything lives in it or below it; zombies do not count. False when it is gone, true
    /// when it cannot be told: what runs unseen must not pass for ended.
    [[nodiscard]] bool populated() const;

    /// Of this cgroup and those that the command may have made below it it knows only this one.
    [[nodiscard]] std::vector<pid_t> processes() const;

    /// SIGKILL to everything in it, forks in flight included: `cgroup.kill` (Linux 5.14), before
    /// that frozen and killed one by one; call again until populated() says no.
    void kill() const;

    struct Usage {
        std::optional<std::uint64_t> peak_memory; ///< bytes; needs the memory controller
        std::optional<std::uint64_t> cpu_time;    ///< microseconds
    };

    [[nodiscard]] Usage usage() const;

    /// Processes in it that the kernel killed for want of memory, whoever's limit it was; nothing
    /// without the memory controller.
    [[nodiscard]] std::optional<std::uint64_t> oom_kills() const;

    /// How often it was refused a process for want of room below a limit, up to Linux 6.10
    /// whoever's; nothing without the controller.
    [[nodiscard]] std::optional<std::uint64_t> refused_processes() const;

    /// False while something in it still runs.
    bool remove();

  private:
    int parent_;
    std::string name_;
    UniqueFd directory_;
};

/// The number after `key` in a `cgroup.events` that is open for reading.
[[nodiscard]] std::optional<std::uint64_t> cgroup_event(int fd, std::string_view key);

/// The numbers after several keys, of one reading; none of `fd` -1.
[[nodiscard]] std::vector<std::optional<std::uint64_t>>
cgroup_events(int fd, std::initializer_list<std::string_view> keys);

/// The `oom_kill` counter in v2 memory.events or v1 memory.oom_control; 0 when it cannot be read.
[[nodiscard]] std::uint64_t oom_kills(int fd);

/// Gives back the page that the kernel keeps of the latest reading of `fd`, for as long as that is
/// open: it becomes another opening of the same file, read-only. Where none is to be had it stays.
void forget_reading(int fd) noexcept;

} // namespace berth::guest
