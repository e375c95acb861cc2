#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace berth::session {

/// A stop that is requested when `other` is, or after a time. For one piece of work that must not
/// last for ever; the time is that in which the host was awake.
class TimedStop {
  public:
    TimedStop(std::chrono::milliseconds time, const std::stop_token& other)
        : passed_on_(other, [this] { source_.request_stop(); }),
          timer_([this, time](const std::stop_token& done) { wait(time, done); })
    {
    }

    TimedStop(const TimedStop&) = delete;
    TimedStop& operator=(const TimedStop&) = delete;
    ~TimedStop() = default;

    [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

  private:
    void wait(std::chrono::milliseconds time, const std::stop_token& done)
    {
        std::unique_lock lock(mutex_);
        if (!ended_.wait_for(lock, done, time, [&] { return done.stop_requested(); })) {
            source_.request_stop();
        }
    }

    std::stop_source source_;
    std::stop_callback<std::function<void()>> passed_on_;
    std::mutex mutex_;
    std::condition_variable_any ended_;
    std::jthread timer_; ///< last: it uses the others
};

} // namespace berth::session
