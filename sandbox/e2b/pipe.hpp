#pragma once

#include "sandbox/base/deadline.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

namespace berth::e2b {

/// Waits for `done()` under the lock; false when the deadline or the stop request came first.
template <class Done>
bool wait_until(std::condition_variable_any& changed, std::unique_lock<std::mutex>& lock,
                const Deadline& deadline, const std::stop_token& stop, Done done)
{
    if (deadline.is_never()) {
        return changed.wait(lock, stop, done);
    }
    while (!done()) {
        const int left = deadline.poll_timeout(); // of a long one only the first 24 days
        if (left == 0 || stop.stop_requested()) {
            return false;
        }
        changed.wait_for(lock, stop, std::chrono::milliseconds(left), done);
    }
    return true;
}

/// A queue of bytes between two threads. Bounded: who writes waits for who reads.
class Pipe {
  public:
    explicit Pipe(std::size_t capacity) noexcept : capacity_(capacity) {}

    enum class Outcome : unsigned char { done, closed, expired };

    /// All of `bytes`. `expired`: the deadline or the stop request came first, and part of it may
    /// be in; `closed`: nobody will read it.
    Outcome write(std::string_view bytes, const Deadline& deadline, const std::stop_token& stop);

    /// Up to `size` bytes, as soon as there is one; `got` 0 with `done` is the end.
    Outcome read(char* data, std::size_t size, std::size_t& got, const Deadline& deadline,
                 const std::stop_token& stop);

    /// Nothing more will be written; what is in can be read.
    void end() noexcept;

    /// Nobody reads any more: what is in is dropped, and both sides return at once.
    void close() noexcept;

  private:
    std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::string bytes_;     ///< guarded, as what follows
    std::size_t taken_ = 0; ///< of `bytes_`, from its front
    bool ended_ = false;
    bool closed_ = false;
};

} // namespace berth::e2b
