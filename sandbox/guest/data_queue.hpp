#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace berth::guest {

/// Pieces of data between the loop's thread, which never waits, and one worker, which does.
/// Thread-safe. Above `high_water` bytes whoever fills it has to pause.
class DataQueue {
  public:
    static constexpr std::size_t high_water = 1024UL * 1024;

    /// Returns the bytes that are queued now. An empty piece is dropped: it would read as the end.
    std::size_t push(std::string piece);

    /// Waits while the queue is above its mark. False after a stop request: nothing was queued.
    bool push_waiting(std::string piece, const std::stop_token& stop);

    /// The next piece if there is one.
    [[nodiscard]] std::optional<std::string> pop();

    /// The next piece, empty after close(); nothing after a stop request.
    [[nodiscard]] std::optional<std::string> pop_waiting(const std::stop_token& stop);

    /// Nothing more will be pushed.
    void close();

    [[nodiscard]] std::size_t bytes() const;

  private:
    std::string take();

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::list<std::string> pieces_; // an answered call is kept for a while, with two of these
    std::size_t bytes_ = 0;
    bool closed_ = false;
};

} // namespace berth::guest
