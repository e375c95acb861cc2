#include "sandbox/guest/pause/signal_freezer.hpp"

#include "sandbox/guest/exec/process_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>
#include <unordered_map>

namespace berth::guest {
namespace {

/// A child that was made while the table was read is in the next one.
constexpr int looks_to_be_sure = 2;

/// By a signal, or by its tracer.
bool is_stopped(const ProcessStat& process)
{
    return process.state == 'T' || process.state == 't';
}

/// Of one that has the signal: it runs no more, or does not come out of the kernel without stopping
/// (D; a vfork(2) parent stays there until its stopped child goes on), or cannot be told, as its
/// first thread has ended (Z).
bool is_still(const ProcessStat& process)
{
    return is_stopped(process) || process.state == 'D' || !process.alive() || process.state == 'Z';
}

/// Mostly it has stopped by then, and its children, which stand behind it in /proc, can be told at
/// the same look: of a chain of hundreds each would take one of its own.
char state_after_stop(const ProcessStat& process)
{
    constexpr int tries = 3;
    std::optional<ProcessStat> now;
    for (int i = 0; i < tries; ++i) {
        now = read_process(process.pid);
        if (!now || now->start_time != process.start_time) {
            return 'X';
        }
        if (is_still(*now)) {
            break;
        }
        std::this_thread::yield(); // it may need this processor to stop
    }
    return now->state;
}

} // namespace

bool SignalFreezer::begin()
{
    quiet_looks_ = 0;
    return true;
}

bool SignalFreezer::is_at_rest()
{
    quiet_looks_ = is_quiet() ? quiet_looks_ + 1 : 0;
    return quiet_looks_ >= looks_to_be_sure;
}

/// As far down the tree of processes as parents come to rest at once, one level at least. True when
/// there was nothing to stop and nothing runs.
bool SignalFreezer::is_quiet()
{
    bool unread = false;
    auto all = look_(&unread);
    std::unordered_map<pid_t, const ProcessStat*> by_pid;
    for (const auto& process : all) {
        by_pid.emplace(process.pid, &process);
    }
    bool quiet = !unread;
    for (auto& process : all) {
        if (is_stopped(process)) {
            continue;
        }
        const auto parent = by_pid.find(process.parent);
        if (parent != by_pid.end() && !is_still(*parent->second)) {
            quiet = false; // its turn comes
            continue;
        }
        const bool fresh = stop(process);
        if (fresh) {
            process.state = state_after_stop(process);
        }
        quiet = quiet && !fresh && is_still(process);
    }
    return quiet;
}

/// Again too, if something has made it go on meanwhile. True for the first time.
bool SignalFreezer::stop(const ProcessStat& process)
{
    if (!signal_process(process, SIGSTOP)) {
        return false; // gone
    }
    const bool fresh = known_.emplace(process.pid, process.start_time).second;
    if (fresh) {
        stopped_.push_back(process);
    }
    return fresh;
}

void SignalFreezer::undo() noexcept
{
    std::for_each(stopped_.rbegin(), stopped_.rend(), [](const ProcessStat& process) {
        errno = 0;
        if (!signal_process(process, SIGCONT) && errno != 0 && errno != ESRCH) {
            // Nothing to be sure that it is the same one (no descriptor, no memory). It can hardly
            // be another: what would have forked is stopped.
            ::kill(process.pid, SIGCONT);
        }
    });
    stopped_.clear();
    known_.clear();
}

} // namespace berth::guest
