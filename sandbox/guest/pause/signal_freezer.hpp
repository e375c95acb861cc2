#pragma once

#include "sandbox/base/process_stat.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/pause/freezer.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace berth::guest {

/// SIGSTOP for every process, where there is no cgroup: parents before their children and the other
/// way round at the end, so that no parent that waits sees a child stop. What was stopped already
/// is left alone then and later. A process that is traced, and whoever handles SIGCONT, notices.
class SignalFreezer : public Freezer {
  public:
    /// All that shall not run. Reads /proc; `unread` is set when there may be more.
    using Look = std::function<std::vector<ProcessStat>(bool* unread)>;

    SignalFreezer(EventLoop& loop, Look look) : Freezer(loop), look_(std::move(look)) {}

    [[nodiscard]] std::string_view mechanism() const noexcept override { return "signals"; }

  private:
    bool begin() override;
    [[nodiscard]] bool is_at_rest() override;
    void undo() noexcept override;
    [[nodiscard]] bool is_quiet();
    bool stop(const ProcessStat& process);

    Look look_;
    int quiet_looks_ = 0;
    std::vector<ProcessStat> stopped_; ///< by this, in that order
    std::set<std::pair<pid_t, std::uint64_t>> known_;
};

} // namespace berth::guest
