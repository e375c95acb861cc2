#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/e2b/api_types.hpp"
#include "sandbox/e2b/envd_client.hpp"
#include "sandbox/e2b/link.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace berth::e2b {

/// A sandbox that is used again and again: awake, and with time left for what is asked of it. E2B
/// stops each one at a time that it was given; this moves that time, and never to an earlier one.
/// Thread-safe.
class RunningBox {
  public:
    /// Beyond what a call needs, so that a busy session asks for more every few minutes and not
    /// with each call.
    static constexpr std::chrono::seconds reserve{300};
    /// Of a clock that is not E2B's, and of the way there.
    static constexpr std::chrono::seconds margin{60};
    /// What each plan of E2B allows at least.
    static constexpr std::chrono::seconds most_of_every_plan{3600};
    /// And of that, where a plan allows no more, so much behind the last use: the rest is for
    /// calls.
    static constexpr std::chrono::seconds most_idle_then{1800};

    /// `left`: how long it certainly runs from now; nothing: it is paused. `idle`: for how long it
    /// is to run after its last use.
    RunningBox(std::shared_ptr<Link> link, Box box, std::optional<std::chrono::seconds> left,
               std::chrono::milliseconds idle);

    /// Its envd, once it is awake. Asks the control plane only where what is known is not enough:
    /// where nothing is expected, that it runs at the moment. Throws as ApiClient::connect(). Where
    /// that cannot be asked, and the sandbox certainly runs for `margin` yet, a call waits for some
    /// seconds at most and goes on with the time that there is; a later one asks again.
    [[nodiscard]] std::shared_ptr<EnvdClient> awake(const Deadline& deadline,
                                                    const std::stop_token& stop = {});

    /// Its envd, where it certainly runs at the moment; null: it may sleep. Asks nobody.
    [[nodiscard]] std::shared_ptr<EnvdClient> if_awake() const;

    /// For how long it is to run after its last use, from the next time on that it is asked for.
    void set_idle(std::chrono::milliseconds idle) noexcept;

    /// It is to run for so long from now.
    void expect(std::chrono::milliseconds time) noexcept;

    /// What is known of it may be wrong: the next awake() asks. `of`: the envd that did not answer;
    /// where another thread has asked since, nothing is doubted.
    void doubt(const EnvdClient* of) noexcept;

    [[nodiscard]] bool may_sleep() const noexcept;

    /// See sandbox::Machine::sleeps_in(): until the limit that was asked for here.
    [[nodiscard]] std::optional<std::chrono::milliseconds> sleeps_in() const noexcept;

    /// Throws as ApiClient::pause().
    void pause(const Deadline& deadline);

    /// So long a limit it takes to be used for `time`.
    [[nodiscard]] static std::chrono::seconds limit_for(std::chrono::milliseconds time,
                                                        std::chrono::milliseconds idle) noexcept;

  private:
    using Time = BootClock::time_point;

    [[nodiscard]] bool is_awake() const noexcept;
    [[nodiscard]] bool has_time() const noexcept;
    [[nodiscard]] bool goes_on() const noexcept;
    [[nodiscard]] std::chrono::seconds wanted_limit() const noexcept;
    [[nodiscard]] std::shared_ptr<EnvdClient> go_on_without() noexcept;
    void take(const Box& box, std::chrono::seconds limit);
    [[nodiscard]] std::shared_ptr<EnvdClient>
    extend(std::chrono::seconds limit, const Deadline& deadline, const std::stop_token& stop);
    [[nodiscard]] std::chrono::seconds ask_for(std::chrono::seconds limit, Connected& connected,
                                               const Deadline& deadline,
                                               const std::stop_token& stop);

    const std::shared_ptr<Link> link_;
    const std::string id_;
    std::timed_mutex asking_; ///< one thread asks, the others have its answer
    mutable std::mutex mutex_;
    std::chrono::milliseconds idle_; ///< guarded, as what follows; less once the plan is known
    Box box_;
    Time runs_until_;                  ///< for certain
    std::optional<Time> needed_until_; ///< as was expected, if anything was
    Time ask_again_{};                 ///< for more time, which it could not be given before
    std::uint64_t expected_ = 0;       ///< how often
    bool asked_ = false;               ///< its limit is known, and not just that it runs
    std::shared_ptr<EnvdClient> envd_;
};

} // namespace berth::e2b
