#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace berth {

struct SpawnOptions {
    std::vector<std::string> arguments;   ///< argv, [0] included
    std::vector<std::string> environment; ///< NAME=VALUE, the whole of it
    /// {descriptor here, number there}; every other descriptor is closed in the child. 0, 1 and 2
    /// become /dev/null unless listed.
    std::vector<std::pair<int, int>> descriptors;
    bool new_session = false; ///< setsid: the terminal's group signals do not reach the child
};

/// A child process, held by a pidfd so that a recycled pid can never be signalled.
/// Not killed by the destructor: the owner decides.
class Process {
  public:
    Process() noexcept = default;

    Process(pid_t pid, UniqueFd pidfd) noexcept : pid_(pid), pidfd_(std::move(pidfd)) {}

    /// posix_spawn of `program` (an absolute path); the server never forks.
    /// Throws std::system_error.
    [[nodiscard]] static Process spawn(const std::string& program, const SpawnOptions& options);

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    [[nodiscard]] bool valid() const noexcept { return pid_ > 0; }

    /// False when it is already gone.
    [[nodiscard]] bool signal(int number) const noexcept;

    /// Waits 5 s for its end, else kills it and waits as long again: what a hung file system holds
    /// cannot be killed, and is left alone then.
    void end() noexcept;

    /// The wait status (waitpid's encoding), or nothing when the deadline passed. Once only.
    [[nodiscard]] std::optional<int> wait(const Deadline& deadline);

  private:
    pid_t pid_ = -1;
    UniqueFd pidfd_;
};

} // namespace berth
