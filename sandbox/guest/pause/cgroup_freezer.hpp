#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/pause/freezer.hpp"

namespace berth::guest {

/// The freezer of cgroup v2: one write, which no fork outruns, of which the frozen see nothing, and
/// beside which SIGKILL goes on working.
class CgroupFreezer : public Freezer {
  public:
    /// `directory`: of the cgroup that has all commands below it; -1: none. Its files are opened
    /// now: when a session is to be woken, no descriptor may be wanting.
    CgroupFreezer(EventLoop& loop, int directory);

    /// It is there, and the guest may use it.
    [[nodiscard]] bool is_usable() const noexcept { return freeze_.valid() && events_.valid(); }

    [[nodiscard]] std::string_view mechanism() const noexcept override { return "cgroup"; }

    /// For a guest at rest: see guest::forget_reading().
    void forget_reading() noexcept;

  private:
    bool begin() override;
    [[nodiscard]] bool is_at_rest() override;
    void undo() noexcept override;

    UniqueFd freeze_;
    UniqueFd events_;
    bool was_read_ = false;
};

} // namespace berth::guest
