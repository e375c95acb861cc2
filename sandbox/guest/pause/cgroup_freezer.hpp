#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/pause/freezer.hpp"

#include <chrono>

namespace berth::guest {

/// The freezer of cgroup v2: one write, which no fork outruns, of which the frozen see nothing, and
/// beside which SIGKILL goes on working.
class CgroupFreezer : public Freezer {
  public:
    /// `directory`: of the cgroup that has all commands below it; -1: none. Its files are opened
    /// now: when a session is to be woken, no descriptor may be wanting.
    CgroupFreezer(EventLoop& loop, int directory);
    ~CgroupFreezer() override;

    /// It is there, and the guest may use it.
    [[nodiscard]] bool is_usable() const noexcept { return freeze_.valid() && events_.valid(); }

    [[nodiscard]] std::string_view mechanism() const noexcept override { return "cgroup"; }

    void freeze(Done done) override;
    void thaw() noexcept override;

  private:
    void look();
    [[nodiscard]] bool is_frozen() const;

    EventLoop& loop_;
    UniqueFd freeze_;
    UniqueFd events_;
    Done done_;
    EventLoop::TimerId timer_ = 0;
    std::chrono::milliseconds step_{0};
    BootClock::time_point give_up_;
};

} // namespace berth::guest
