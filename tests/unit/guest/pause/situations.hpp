#pragma once

#include "sandbox/guest/pause/controller.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest::test {

/// A controller with what its guest would tell it: the load, and time that passes only when told.
class PauseRig {
  public:
    using Controller = PauseController;
    using Order = Controller::Order;

    explicit PauseRig(const Controller::Policy& policy) : controller(policy), policy_(policy) {}

    Order look()
    {
        load.awake = awake_;
        return controller.look(load, now);
    }

    void pass(BootClock::duration time)
    {
        now += time;
        awake_ += std::chrono::duration_cast<Deadline::Clock::duration>(time);
    }

    Order set(const Controller::Policy& policy)
    {
        policy_ = policy;
        controller.set_policy(policy);
        return Order::none;
    }

    [[nodiscard]] const Controller::Policy& policy() const noexcept { return policy_; }

    /// "paused: idle".
    [[nodiscard]] std::string state() const;

    /// What is ordered first, and after how long, if nothing comes any more: whoever owns the
    /// controller looks at once, and then whenever it says so. "freeze left in 1s"; "waits" for
    /// something to be settled; "nothing".
    [[nodiscard]] std::string follows();

    /// What whoever asks is told of that, without the reason: "freeze in 1s", "end in 1s",
    /// "nothing".
    [[nodiscard]] std::string tells() const;

    Controller controller;
    Controller::Load load;
    Controller::Time now{std::chrono::hours(1)};

  private:
    Controller::Policy policy_;
    Controller::AwakeTime awake_{std::chrono::hours(1)};
};

[[nodiscard]] std::string_view to_string(PauseController::Order order) noexcept;

/// What a session is in, by what has happened to it. `arrange` is false where that cannot be with
/// the policy.
struct Situation {
    std::string_view name;
    bool (*arrange)(PauseRig& rig);
};

/// `apply` is nothing where it cannot happen.
struct PauseEvent {
    std::string_view name;
    std::optional<PauseController::Order> (*apply)(PauseRig& rig);
};

struct NamedPolicy {
    std::string_view name;
    PauseController::Policy policy;
};

[[nodiscard]] const std::vector<Situation>& situations();
[[nodiscard]] const std::vector<PauseEvent>& pause_events();
[[nodiscard]] const std::vector<NamedPolicy>& pause_policies();

} // namespace berth::guest::test
