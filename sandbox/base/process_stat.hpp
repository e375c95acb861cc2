#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace berth {

/// One line of the process table, as /proc/<pid>/stat had it at one moment.
struct ProcessStat {
    pid_t pid = 0;
    pid_t parent = 0;
    pid_t group = 0;
    pid_t session = 0;
    char state = '?';
    std::uint64_t start_time = 0; ///< ticks since boot; with the pid it names a process for ever
    std::uint32_t threads = 0;

    /// A zombie runs no more, unless only its first thread has ended.
    [[nodiscard]] bool alive() const noexcept
    {
        return (state != 'Z' && state != 'X') || threads > 1;
    }
};

/// `text`: the whole of /proc/<pid>/stat (proc_pid_stat(5)). Nothing when it is cut off.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(pid_t pid, std::string_view text);

} // namespace berth
