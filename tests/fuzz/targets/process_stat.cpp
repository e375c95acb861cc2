// /proc/PID/stat, of which a process chooses the name.

#include "sandbox/base/process_stat.hpp"

#include "tests/fuzz/target.hpp"

BERTH_FUZZ_TARGET(process_stat)
{
    if (const auto stat = berth::parse_process_stat(7, input)) {
        berth::fuzz::require(stat->pid == 7, "the pid is the one that was asked for");
        (void)stat->alive();
    }
}
