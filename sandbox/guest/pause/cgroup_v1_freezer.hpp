#pragma once

#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/pause/freezer.hpp"

namespace berth::guest {

/// The freezer of cgroup v1, where there is no v2: of which the frozen see nothing either. But
/// while they are frozen SIGKILL waits: who ends the session has to thaw it
/// (sandbox/local/cgroup_tree.hpp).
class CgroupV1Freezer : public Freezer {
  public:
    /// `state`: freezer.state of the cgroup that every command is in, open to read and to write,
    /// and open for as long as this is there; -1: none.
    CgroupV1Freezer(EventLoop& loop, int state) : Freezer(loop), state_(state) {}

    [[nodiscard]] bool is_usable() const noexcept { return state_ >= 0; }

    [[nodiscard]] std::string_view mechanism() const noexcept override { return "cgroup-v1"; }

    [[nodiscard]] bool lets_kill() const noexcept override { return false; }

  private:
    bool begin() override;
    [[nodiscard]] bool is_at_rest() override;
    void undo() noexcept override;

    const int state_;
};

} // namespace berth::guest
