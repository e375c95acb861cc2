#pragma once

#include "sandbox/guest/event_loop.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
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
    /// Of more the one that has said nothing for longest is taken to have left: servers that were
    /// killed must not shut the next one out. A machine has one or two.
    static constexpr std::size_t most = 128;

    /// What a hello says, which may be any number.
    [[nodiscard]] static std::chrono::milliseconds bounded(std::uint64_t time) noexcept
    {
        constexpr std::uint64_t most_time = std::chrono::milliseconds(longest).count();
        return std::chrono::milliseconds(std::min(time, most_time));
    }

    /// `ended`: of one whose time is over or that has left. Its lease is no more by then.
    Leases(EventLoop& loop, Ended ended);
    ~Leases();
    Leases(const Leases&) = delete;
    Leases& operator=(const Leases&) = delete;

    /// It is here for so long from now, whatever it said before; no time: it leaves now.
    void set(const std::string& server, std::chrono::milliseconds time);

    [[nodiscard]] bool holds(const std::string& server) const { return leases_.contains(server); }

    [[nodiscard]] std::size_t count() const noexcept { return leases_.size(); }

  private:
    struct Lease {
        EventLoop::TimerId timer = 0;
        std::uint64_t said = 0; ///< the last time, as said_ counts
    };

    void make_room();
    void end(const std::string& server);

    EventLoop& loop_;
    const Ended ended_;
    std::map<std::string, Lease> leases_; ///< by server
    std::uint64_t said_ = 0;              ///< how often any has said that it is here
};

} // namespace berth::guest
