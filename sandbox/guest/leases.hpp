#pragma once

#include "sandbox/guest/event_loop.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace berth::guest {

/// Which servers are here, of those that say it by time: where each call has a connection of its
/// own (docs/adr/0016-e2b-channel.md), its end tells nothing of whoever made it. The time is that
/// in which the machine was awake, so that a wake finds nobody gone. Belongs to the loop's thread.
class Leases {
  public:
    using Ended = std::function<void(const std::string& server)>;

    /// Longer ones are shortened: a server that was killed must not keep its machine awake for
    /// ever.
    static constexpr std::chrono::hours longest{1};
    /// Of more the next is refused. A machine has one or two.
    static constexpr std::size_t most = 128;

    /// `ended`: of one whose time is over or that has left. Its lease is no more by then.
    Leases(EventLoop& loop, Ended ended);
    ~Leases();
    Leases(const Leases&) = delete;
    Leases& operator=(const Leases&) = delete;

    /// It is here for so long from now, whatever it said before; no time: it leaves now. Throws
    /// Error(busy).
    void set(const std::string& server, std::chrono::milliseconds time);

    [[nodiscard]] bool holds(const std::string& server) const { return timers_.contains(server); }

    [[nodiscard]] std::size_t count() const noexcept { return timers_.size(); }

  private:
    void end(const std::string& server);

    EventLoop& loop_;
    const Ended ended_;
    std::map<std::string, EventLoop::TimerId> timers_; ///< by server
};

} // namespace berth::guest
