#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace berth::rpc {

/// Threads for work that blocks. A task never waits for the end of another: whichever thread takes
/// one has the next idle one come for what is left, or starts it, up to `limit`. A thread without
/// work ends after `linger`. Thread-safe.
class WorkerPool {
  public:
    explicit WorkerPool(std::size_t limit,
                        std::chrono::milliseconds linger = std::chrono::seconds(5));
    /// Runs what is queued, then waits for every thread.
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// The task must not throw. Throws std::system_error when no thread can be started and none
    /// exists.
    void run(std::function<void()> task);

    [[nodiscard]] std::size_t threads() const noexcept;

    struct Load {
        std::size_t limit = 0;
        std::size_t threads = 0;
        std::size_t idle = 0;    ///< of them
        std::size_t waiting = 0; ///< tasks that no thread has taken yet
    };

    [[nodiscard]] Load load() const noexcept;

  private:
    struct State;
    static void work(const std::shared_ptr<State>& state) noexcept;

    std::shared_ptr<State> state_;
};

} // namespace berth::rpc
