#include "sandbox/session/late_teller.hpp"

#include "sandbox/base/wait_bound.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <stop_token>

namespace berth::session {
namespace {

using Time = BootClock::time_point;

/// Whoever stops a server may wait for it.
constexpr std::chrono::seconds say_time{5};

} // namespace

/// When the thread is to wake. It is woken only for what is due before that: a call costs no
/// wake-up.
class LateTeller::Alarm {
  public:
    void set(Time time)
    {
        const std::lock_guard lock(mutex_);
        if (time < next_) {
            next_ = time;
            changed_.notify_one();
        }
    }

    /// From here on what set() says counts for the next wait().
    void begin()
    {
        const std::lock_guard lock(mutex_);
        next_ = Time::max();
    }

    void wait(const std::stop_token& stop)
    {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested() && BootClock::now() < next_) {
            const auto until = next_;
            const auto is_earlier = [&] { return next_ < until; };
            if (until == Time::max()) {
                changed_.wait(lock, stop, is_earlier);
            } else {
                changed_.wait_for(lock, stop, until - BootClock::now(), is_earlier);
            }
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    Time next_ = Time::max();
};

LateTeller::LateTeller() : alarm_(std::make_shared<Alarm>()) {}

LateTeller::~LateTeller() = default;

void LateTeller::watch(const std::shared_ptr<sandbox::Sandbox>& sandbox) noexcept
try {
    if (sandbox->machine().reach().kept) {
        return;
    }
    sandbox->on_words_due([alarm = alarm_](Time time) { alarm->set(time); });
    const std::lock_guard lock(mutex_);
    watched_.push_back(sandbox);
    if (!thread_.joinable()) {
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    for (const auto due : {sandbox->words_due(), sandbox->rest_due()}) {
        alarm_->set(due.value_or(Time::max()));
    }
} catch (const std::exception&) {
    return; // no call shall fail for it; the next session's tries again
}

void LateTeller::stop() noexcept
{
    const std::lock_guard lock(mutex_);
    thread_.request_stop();
}

void LateTeller::run(const std::stop_token& stop)
{
    const WaitBound bound(stop); // what is broken off goes with the departure
    while (!stop.stop_requested()) {
        alarm_->begin();
        try {
            alarm_->set(say_what_is_due(stop));
        } catch (const std::exception&) { // no memory
            alarm_->set(BootClock::now() + say_time);
        }
        alarm_->wait(stop);
    }
}

std::vector<std::shared_ptr<sandbox::Sandbox>> LateTeller::living()
{
    std::vector<std::shared_ptr<sandbox::Sandbox>> found;
    const std::lock_guard lock(mutex_);
    std::erase_if(watched_, [&](const auto& each) {
        auto sandbox = each.lock();
        const bool gone = !sandbox;
        if (!gone) {
            found.push_back(std::move(sandbox));
        }
        return gone;
    });
    return found;
}

/// When the next of it will be.
Time LateTeller::say_what_is_due(const std::stop_token& stop)
{
    auto next = Time::max();
    for (const auto& sandbox : living()) {
        auto due = sandbox->words_due();
        if (due && *due <= BootClock::now() && !stop.stop_requested()) {
            sandbox->say_words(Deadline::after(say_time));
            due = sandbox->words_due();
        }
        auto rest = sandbox->rest_due();
        if (rest && *rest <= BootClock::now() && !stop.stop_requested()) {
            sandbox->rest();
            rest = sandbox->rest_due();
        }
        next = std::min({next, due.value_or(Time::max()), rest.value_or(Time::max())});
    }
    return next;
}

} // namespace berth::session
