#pragma once

#include "sandbox/guest/event_loop.hpp"

#include <chrono>
#include <functional>
#include <string_view>

namespace berth::guest {

/// Freezes all that the commands of a session left running, and nothing of the guest. Belongs to
/// the loop's thread, and does not hold it up.
class Freezer {
  public:
    /// `complete`: nothing of the commands runs, and nothing will before thaw().
    using Done = std::function<void(bool complete)>;

    /// To freeze may take so long: a process that waits for a hung disk in the kernel comes to rest
    /// only when it is back from there.
    static constexpr std::chrono::milliseconds patience{1900};
    /// Between two looks whether all is at rest, the first of which comes at once; each takes half
    /// as long again as the one before it: so at most half of what it takes is waited on top of it.
    /// What sleeps is frozen within some ten microseconds, less than it takes to be woken by a
    /// timer: so the first look is several, for no longer than that.
    static constexpr std::chrono::microseconds first_look{60};
    static constexpr int first_looks = 12;
    static constexpr std::chrono::microseconds first_step{10};
    static constexpr std::chrono::microseconds longest_step{50000};

    explicit Freezer(EventLoop& loop) : loop_(loop) {}

    Freezer(const Freezer&) = delete;
    Freezer& operator=(const Freezer&) = delete;
    virtual ~Freezer();

    /// "cgroup", "cgroup-v1", "signals".
    [[nodiscard]] virtual std::string_view mechanism() const noexcept = 0;

    /// What is frozen can be killed; else it has to be thawed for that.
    [[nodiscard]] virtual bool lets_kill() const noexcept { return true; }

    /// `done` is called once, from the loop, within 2 s; not at all after a thaw(). Whatever it is
    /// told, thaw() is to be called some time.
    void freeze(Done done);

    /// What had been stopped before stays so. Of what is not frozen nothing happens. Cannot fail.
    void thaw() noexcept;

  private:
    /// False: it cannot be done, so one look is enough.
    virtual bool begin() = 0;
    /// Asked again and again until it is so; may still do its part for it.
    [[nodiscard]] virtual bool is_at_rest() = 0;
    virtual void undo() noexcept = 0;

    void look_in(std::chrono::microseconds time, int looks);
    /// Looks once at least.
    [[nodiscard]] bool comes_to_rest(int looks);

    EventLoop& loop_;
    Done done_;
    EventLoop::TimerId timer_ = 0;
    std::chrono::microseconds step_{0};
    Deadline give_up_;
};

} // namespace berth::guest
