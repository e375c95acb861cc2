#include "sandbox/e2b/running_box.hpp"

#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/status_error.hpp"

#include <algorithm>
#include <utility>

namespace berth::e2b {
namespace {

/// With more time for a sandbox that runs: calls wait for it.
constexpr std::chrono::seconds patience_for_more{3};
/// And where that did not come, until the next attempt.
constexpr std::chrono::seconds until_asked_again{20};

constexpr int conflict = 409;

/// Whether the control plane has answered for the sandbox, or for the key. Else all that is known
/// is that E2B cannot be asked now.
bool tells_of_sandbox(const Error& error)
{
    constexpr int too_many = 429;
    if (const auto* answer = dynamic_cast<const StatusError*>(&error)) {
        return answer->is_own() && answer->status() < 500 && answer->status() != too_many;
    }
    if (const auto* failure = dynamic_cast<const HttpFailure*>(&error)) {
        return failure->cause() == HttpFailure::Cause::cancelled;
    }
    return error.code() != ErrorCode::backend_error; // which is an answer that cannot be read
}

/// It passes, and whoever has it woken then may have to wait for longer.
bool is_between_two_states(const Error& error)
{
    const auto* answer = dynamic_cast<const StatusError*>(&error);
    return answer != nullptr && answer->status() == conflict;
}

/// Whoever waits for another's answer has its own time, and hears its own cancel.
std::unique_lock<std::timed_mutex> turn_to_ask(std::timed_mutex& asking, const Deadline& deadline,
                                               const std::stop_token& stop)
{
    constexpr std::chrono::milliseconds notice{50};
    std::unique_lock lock(asking, std::defer_lock);
    while (!lock.try_lock_for(notice)) {
        if (stop.stop_requested()) {
            throw Error(ErrorCode::cancelled, "the call was cancelled while its sandbox woke");
        }
        if (deadline.expired()) {
            throw Error(ErrorCode::sandbox_unavailable,
                        "another call of this session is still waiting for it");
        }
    }
    return lock;
}

} // namespace

std::chrono::seconds RunningBox::limit_for(std::chrono::milliseconds time,
                                           std::chrono::milliseconds idle) noexcept
{
    return std::chrono::ceil<std::chrono::seconds>(time + idle) + margin + reserve;
}

RunningBox::RunningBox(std::shared_ptr<Link> link, Box box,
                       std::optional<std::chrono::seconds> left, std::chrono::milliseconds idle)
    : link_(std::move(link)), id_(box.id), idle_(idle), box_(std::move(box))
{
    if (left) {
        take(box_, *left);
        asked_ = *left > margin; // who does not know says that it runs, and no more
    }
}

bool RunningBox::is_awake() const noexcept
{
    const auto until = needed_until_ ? *needed_until_ + idle_ + margin : BootClock::now();
    return envd_ && until <= runs_until_;
}

/// Under the lock, or where nobody else has it yet.
void RunningBox::take(const Box& box, std::chrono::seconds limit)
{
    auto known = box; // an answer may leave out what an earlier one had
    known.envd_token = box.envd_token.empty() ? box_.envd_token : box.envd_token;
    known.domain = box.domain.empty() ? box_.domain : box.domain;
    box_ = std::move(known);
    runs_until_ = BootClock::now() + limit;
    envd_ = std::make_shared<EnvdClient>(
        link_->http,
        EnvdAddress{.endpoint = envd_endpoint(link_->settings, box_.id, box_.domain),
                    .sandbox_id = box_.id,
                    .token = box_.envd_token,
                    .version = box_.envd_version},
        link_->times);
}

/// Whether it certainly runs for as long as a call takes that nobody waits long for.
bool RunningBox::has_time() const noexcept
{
    return envd_ && BootClock::now() + margin <= runs_until_;
}

/// Whether nobody is to be asked for it now.
bool RunningBox::goes_on() const noexcept
{
    return is_awake() || (has_time() && BootClock::now() < ask_again_);
}

std::chrono::seconds RunningBox::wanted_limit() const noexcept
{
    const auto now = BootClock::now();
    const auto needed = std::max(needed_until_.value_or(now), now) - now;
    return limit_for(std::chrono::ceil<std::chrono::milliseconds>(needed), idle_);
}

/// For as long as it has time; null: it has none left.
std::shared_ptr<EnvdClient> RunningBox::go_on_without() noexcept
{
    const std::lock_guard lock(mutex_);
    if (!has_time()) {
        return nullptr;
    }
    ask_again_ = BootClock::now() + until_asked_again;
    return envd_;
}

std::shared_ptr<EnvdClient> RunningBox::awake(const Deadline& deadline, const std::stop_token& stop)
{
    // A moment: whoever asks looks, just before it lets go, what others have come to need.
    constexpr std::chrono::milliseconds moment{20};
    std::unique_lock asking(asking_, std::defer_lock);
    std::shared_ptr<EnvdClient> there;
    {
        const std::lock_guard lock(mutex_);
        if (goes_on()) {
            return envd_;
        }
        there = has_time() ? envd_ : nullptr;
    }
    if (!there) {
        asking = turn_to_ask(asking_, deadline, stop);
    } else if (!asking.try_lock_for(moment)) {
        return there;
    }
    std::chrono::seconds limit{};
    bool has_time = false;
    {
        const std::lock_guard lock(mutex_);
        if (goes_on()) { // another thread has asked meanwhile
            return envd_;
        }
        limit = wanted_limit();
        has_time = this->has_time();
    }
    if (!has_time) {
        return extend(limit, deadline, stop);
    }
    try {
        return extend(limit, Deadline::earlier(deadline, Deadline::after(patience_for_more)), stop);
    } catch (const Error& error) {
        if (tells_of_sandbox(error)) {
            if (!is_between_two_states(error)) {
                throw;
            }
        } else if (auto kept = go_on_without()) {
            return kept;
        }
    }
    return extend(limit, deadline, stop); // it sleeps by now, or is about to
}

std::shared_ptr<EnvdClient> RunningBox::extend(std::chrono::seconds limit, const Deadline& deadline,
                                               const std::stop_token& stop)
{
    constexpr int most = 3; // each for calls that have come meanwhile, and go on without asking
    for (int asked = 1;; ++asked) {
        Connected connected;
        std::chrono::seconds given{};
        try {
            given = ask_for(limit, connected, deadline, stop);
        } catch (const Error&) {
            if (asked == 1) {
                throw;
            }
            const std::lock_guard lock(mutex_); // it is awake, and a later call asks
            return envd_;
        }
        const std::lock_guard lock(mutex_);
        take(connected.box, given);
        asked_ = true;
        if (given < limit) { // else each call would ask for what is refused
            idle_ = std::min<std::chrono::milliseconds>(idle_, most_idle_then);
            if (needed_until_) {
                needed_until_ =
                    std::min(*needed_until_, runs_until_ - idle_ - margin); // all there is
            }
        }
        if (given < limit || is_awake() || asked == most) {
            return envd_;
        }
        limit = wanted_limit();
    }
}

std::shared_ptr<EnvdClient> RunningBox::if_awake() const
{
    const std::lock_guard lock(mutex_);
    return BootClock::now() < runs_until_ ? envd_ : nullptr;
}

/// What the plan does not allow is not known before it is asked for.
std::chrono::seconds RunningBox::ask_for(std::chrono::seconds limit, Connected& connected,
                                         const Deadline& deadline, const std::stop_token& stop)
{
    try {
        connected = link_->api.connect(id_, limit, deadline, stop);
        return limit;
    } catch (const StatusError& refusal) {
        if (refusal.status() != 400 || limit <= most_of_every_plan) {
            throw;
        }
    }
    connected = link_->api.connect(id_, most_of_every_plan, deadline, stop);
    return most_of_every_plan;
}

void RunningBox::set_idle(std::chrono::milliseconds idle) noexcept
{
    const std::lock_guard lock(mutex_);
    idle_ = idle;
}

void RunningBox::expect(std::chrono::milliseconds time) noexcept
{
    constexpr std::chrono::hours longest{24}; // no plan of E2B's allows more
    const auto until = BootClock::now() + std::min<std::chrono::milliseconds>(time, longest);
    const std::lock_guard lock(mutex_);
    needed_until_ = std::max(needed_until_.value_or(until), until);
    ++expected_;
}

void RunningBox::doubt(const EnvdClient* of) noexcept
{
    const std::lock_guard lock(mutex_);
    if (envd_.get() == of) {
        runs_until_ = {};
    }
}

bool RunningBox::may_sleep() const noexcept
{
    const std::lock_guard lock(mutex_);
    return BootClock::now() >= runs_until_;
}

std::optional<std::chrono::milliseconds> RunningBox::sleeps_in() const noexcept
{
    const std::lock_guard lock(mutex_);
    const auto left = runs_until_ - BootClock::now();
    return asked_ && left.count() > 0
               ? std::optional(std::chrono::floor<std::chrono::milliseconds>(left))
               : std::nullopt;
}

void RunningBox::pause(const Deadline& deadline)
{
    std::uint64_t expected = 0;
    std::shared_ptr<EnvdClient> envd;
    {
        const std::lock_guard lock(mutex_);
        expected = expected_;
        envd = envd_;
    }
    static_cast<void>(link_->api.pause(id_, deadline));
    const std::lock_guard lock(mutex_);
    if (envd_ == envd) { // else it was woken meanwhile
        runs_until_ = {};
    }
    if (expected_ == expected) { // else somebody needs it from then on
        needed_until_.reset();
    }
}

} // namespace berth::e2b
