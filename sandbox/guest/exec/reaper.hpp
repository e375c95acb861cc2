#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/event_loop.hpp"

#include <functional>
#include <memory>

#include <sys/resource.h>
#include <sys/types.h>

namespace berth::guest {

/// Waits for every child of the guest, the adopted ones too. Blocks SIGCHLD in the calling thread,
/// so it must be made before any other thread is (one that did not block it would swallow it).
class Reaper {
  public:
    using Reaped = std::function<void(pid_t pid, int status, const rusage& usage)>;
    using Stopped = std::function<void(pid_t pid)>;

    /// `stopped`: a child that a signal has stopped, once for each time.
    Reaper(EventLoop& loop, Reaped reaped, Stopped stopped);
    ~Reaper();
    Reaper(const Reaper&) = delete;
    Reaper& operator=(const Reaper&) = delete;

  private:
    struct Core;
    std::shared_ptr<Core> core_;
};

} // namespace berth::guest
