#include "tests/unit/guest/pause/situations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace berth::guest::test {
namespace {

using namespace std::chrono_literals;
using protocol::OnDisconnect;
using Controller = PauseController;
using Order = Controller::Order;

constexpr auto idle_pause = 5min;

// ---- what has happened

bool comes(PauseRig& rig)
{
    rig.load.clients = 1;
    return rig.look() == Order::none;
}

bool is_alone(PauseRig& rig)
{
    rig.load.clients = 0;
    return rig.look() == Order::none;
}

Order leave(PauseRig& rig)
{
    if (!is_alone(rig)) {
        return Order::end;
    }
    rig.pass(Controller::leave_grace);
    return rig.look();
}

bool has_left(PauseRig& rig)
{
    return comes(rig) && leave(rig) == Order::none;
}

Order ask(PauseRig& rig)
{
    rig.controller.ask();
    return rig.look();
}

bool pauses_as_asked(PauseRig& rig)
{
    return comes(rig) && ask(rig) == Order::freeze;
}

bool pauses_as_idle(PauseRig& rig)
{
    (void)comes(rig);
    rig.pass(idle_pause);
    return rig.look() == Order::freeze;
}

bool pauses_as_left(PauseRig& rig)
{
    return comes(rig) && leave(rig) == Order::freeze;
}

bool is_frozen(PauseRig& rig)
{
    return rig.controller.frozen(true, rig.now) == Order::none;
}

bool has_failed(PauseRig& rig)
{
    return rig.controller.frozen(false, rig.now) == Order::thaw;
}

bool fails_when_idle(PauseRig& rig)
{
    (void)comes(rig);
    rig.pass(idle_pause);
    return ask(rig) == Order::freeze && has_failed(rig);
}

/// By itself where it would, else because somebody asks.
bool fails_when_left(PauseRig& rig)
{
    (void)comes(rig);
    auto order = leave(rig);
    if (order == Order::none) {
        order = ask(rig);
    }
    return order == Order::freeze && has_failed(rig);
}

bool settles(PauseRig& rig)
{
    rig.load.settled = false;
    return comes(rig) && ask(rig) == Order::none;
}

template <bool (*then)(PauseRig&)>
bool with_job(PauseRig& rig)
{
    rig.load.jobs = 1;
    return comes(rig) && then(rig);
}

template <bool (*then)(PauseRig&)>
bool with_call(PauseRig& rig)
{
    rig.load.calls = 1;
    return rig.controller.call_begins() == Order::none && comes(rig) && then(rig);
}

template <bool (*first)(PauseRig&), bool (*then)(PauseRig&)>
bool both(PauseRig& rig)
{
    return first(rig) && then(rig);
}

constexpr auto is_paused_as_asked = both<pauses_as_asked, is_frozen>;

bool leaves_in_peace(PauseRig& rig)
{
    return leave(rig) == Order::none;
}

// ---- what happens

using Ordered = std::optional<Order>;

template <std::size_t Controller::Load::* count>
Ordered more(PauseRig& rig)
{
    ++(rig.load.*count);
    return rig.look();
}

template <std::size_t Controller::Load::* count>
Ordered less(PauseRig& rig)
{
    if (rig.load.*count == 0) {
        return std::nullopt;
    }
    --(rig.load.*count);
    return rig.look();
}

template <bool settled>
Ordered settle(PauseRig& rig)
{
    if (rig.load.settled == settled) {
        return std::nullopt;
    }
    rig.load.settled = settled;
    return rig.look();
}

Ordered call(PauseRig& rig)
{
    ++rig.load.calls;
    return rig.controller.call_begins();
}

Ordered short_call(PauseRig& rig)
{
    const auto order = call(rig);
    const auto meanwhile = rig.look();
    --rig.load.calls;
    return meanwhile == Order::none ? order : meanwhile;
}

template <bool complete>
Ordered answer(PauseRig& rig)
{
    return rig.controller.frozen(complete, rig.now);
}

template <OnDisconnect on_disconnect>
Ordered set_on_disconnect(PauseRig& rig)
{
    return rig.set({rig.policy().idle_pause, on_disconnect});
}

template <int minutes>
Ordered set_idle_pause(PauseRig& rig)
{
    return rig.set({std::chrono::minutes(minutes), rig.policy().on_disconnect});
}

std::string text_of(BootClock::duration time)
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    if (seconds == 0) {
        return "at once";
    }
    return seconds % 60 == 0 ? "in " + std::to_string(seconds / 60) + "m"
                             : "in " + std::to_string(seconds) + "s";
}

} // namespace

std::string_view to_string(Order order) noexcept
{
    constexpr std::array<std::string_view, 4> names{"-", "freeze", "thaw", "end"};
    return names.at(static_cast<std::size_t>(order));
}

std::string PauseRig::state() const
{
    constexpr std::array<std::string_view, 3> names{"awake", "pausing", "paused"};
    const auto why = guest::to_string(controller.why());
    return std::string(names.at(static_cast<std::size_t>(controller.state()))) +
           (why.empty() ? "" : ": " + std::string(why));
}

std::string PauseRig::follows()
{
    const auto from = now;
    for (int looks = 0; looks < 100; ++looks) {
        const auto order = look();
        if (order != Order::none) {
            const auto why = guest::to_string(controller.why());
            return std::string(to_string(order)) + " " +
                   (order == Order::freeze ? std::string(why) + " " : "") + text_of(now - from);
        }
        const auto next = controller.next_look(now);
        if (!next) {
            return "nothing";
        }
        pass(std::max(*next - now, BootClock::duration(0)));
    }
    return "waits";
}

std::string PauseRig::tells() const
{
    if (const auto end = controller.ends_at()) {
        return "end " + text_of(*end - now);
    }
    const auto pause = controller.pauses_at();
    return pause ? "freeze " + text_of(*pause - now) : "nothing";
}

const std::vector<Situation>& situations()
{
    static const std::vector<Situation> all{
        {"fresh", [](PauseRig& rig) { return rig.look() == Order::none; }},
        {"attended", comes},
        {"attended+job", with_job<comes>},
        {"attended+call", with_call<comes>},
        {"attended+settling", settles},
        {"attended+failed", fails_when_idle},
        {"alone", both<comes, is_alone>},
        {"alone+job", with_job<is_alone>},
        {"left", has_left},
        {"left+job", with_job<has_left>},
        {"left+call", with_call<has_left>},
        {"left+failed", fails_when_left},
        {"pausing:asked", pauses_as_asked},
        {"pausing:idle", pauses_as_idle},
        {"pausing:left", pauses_as_left},
        {"pausing:asked+left", both<pauses_as_asked, leaves_in_peace>},
        {"paused:asked", is_paused_as_asked},
        {"paused:idle", both<pauses_as_idle, is_frozen>},
        {"paused:left", both<pauses_as_left, is_frozen>},
        {"paused:asked+alone", both<is_paused_as_asked, is_alone>},
        {"paused:asked+left", both<is_paused_as_asked, leaves_in_peace>},
    };
    return all;
}

const std::vector<PauseEvent>& pause_events()
{
    using Load = Controller::Load;
    static const std::vector<PauseEvent> all{
        {"a look", [](PauseRig& rig) -> Ordered { return rig.look(); }},
        {"a client comes", more<&Load::clients>},
        {"the client leaves", less<&Load::clients>},
        {"a call begins", call},
        {"a call begins and ends", short_call},
        {"the call ends", less<&Load::calls>},
        {"a job begins", more<&Load::jobs>},
        {"the job ends", less<&Load::jobs>},
        {"something is to be settled", settle<false>},
        {"it is settled", settle<true>},
        {"a pause is asked for",
         [](PauseRig& rig) -> Ordered {
             rig.controller.ask();
             return Order::none;
         }},
        {"that is taken back",
         [](PauseRig& rig) -> Ordered {
             rig.controller.take_back();
             return Order::none;
         }},
        {"resume", [](PauseRig& rig) -> Ordered { return rig.controller.resume(rig.now); }},
        {"frozen", answer<true>},
        {"not frozen", answer<false>},
        {"set now", set_on_disconnect<OnDisconnect::now>},
        {"set idle", set_on_disconnect<OnDisconnect::idle>},
        {"set keep", set_on_disconnect<OnDisconnect::keep>},
        {"set kill", set_on_disconnect<OnDisconnect::kill>},
        {"set 5m", set_idle_pause<5>},
        {"set 0", set_idle_pause<0>},
    };
    return all;
}

const std::vector<NamedPolicy>& pause_policies()
{
    static const std::vector<NamedPolicy> all{
        {"now/5m", {idle_pause, OnDisconnect::now}},
        {"idle/5m", {idle_pause, OnDisconnect::idle}},
        {"keep/5m", {idle_pause, OnDisconnect::keep}},
        {"kill/5m", {idle_pause, OnDisconnect::kill}},
        {"now/0", {0s, OnDisconnect::now}},
        {"idle/0", {0s, OnDisconnect::idle}},
        {"keep/0", {0s, OnDisconnect::keep}},
        {"kill/0", {0s, OnDisconnect::kill}},
    };
    return all;
}

} // namespace berth::guest::test
