#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/event_loop.hpp"

#include <functional>
#include <optional>

namespace berth::guest {

/// Ends the guest when it shall: on SIGTERM from outside, when its lifetime pipe closes, after a
/// time without use. Belongs to the loop's thread.
class Lifetime {
  public:
    struct Options {
        int lifetime_fd = -1;            ///< owned from here on
        BootClock::duration idle_end{0}; ///< 0: never
        std::function<bool()> in_use;    ///< a client, a call, or a job that does not sleep
        std::function<void()> at_look;   ///< each time that its use is looked at; may be empty
        std::function<void()> unused;    ///< after `idle_end`, in place of `end`
    };

    /// SIGTERM must be blocked. `end` is called at most a few times.
    Lifetime(EventLoop& loop, Options options, std::function<void()> end);
    ~Lifetime();
    Lifetime(const Lifetime&) = delete;
    Lifetime& operator=(const Lifetime&) = delete;

    /// It is in use now, or has been until now: of what begins and ends between two looks they see
    /// nothing.
    void used() noexcept { last_use_ = BootClock::now(); }

    /// False, and nothing is changed, where it never ends so, or would not from then on: an unnamed
    /// session ends with its server.
    bool set_idle_end(BootClock::duration idle_end);

    /// Until it ends for want of use if none comes, a step of the looks exact; nothing while it is
    /// in use, or if it never ends so.
    [[nodiscard]] std::optional<BootClock::duration> ends_in() const;

  private:
    void take_signals();
    void take_lifetime();
    void check_use();

    EventLoop& loop_;
    Options options_;
    const std::function<void()> end_;
    UniqueFd pipe_;
    UniqueFd signals_;
    BootClock::time_point last_use_ = BootClock::now();
    bool was_in_use_ = false; ///< at the last look
    EventLoop::TimerId timer_ = 0;
};

} // namespace berth::guest
