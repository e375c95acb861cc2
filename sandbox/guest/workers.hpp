#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace berth::guest {

/// Threads for work that may block: on a slow disk, a hung mount, a FIFO. Started when they are
/// needed and ended when they are idle, so that an idle guest has none. Thread-safe.
class Workers {
  public:
    using Job = std::function<void()>; ///< must not throw

    struct Options {
        std::size_t most = 16; ///< stuck ones included: so many hung calls hold up the next
        std::size_t stack = 512UL * 1024;
        std::chrono::milliseconds idle{2000};
        std::size_t queue = 256;
    };

    Workers() : Workers(Options()) {}

    explicit Workers(const Options& options);
    /// Waits for the running jobs; queued ones are dropped.
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// Throws Error(busy) when the queue is full or no thread can be had.
    void run(Job job);

    [[nodiscard]] std::size_t threads() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace berth::guest
