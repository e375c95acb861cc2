#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace berth::transport {

/// How far the reader of a pipe or of a socket has come, and what waits for that. What a program
/// in between has read counts as read; of other kinds of files everything does. Thread-safe.
class Unread {
  public:
    using Task = std::function<void()>;

    /// So many tasks wait: more than clients make calls side by side, since of a result whose task
    /// is dropped the next server says that it reached nobody. Of more the oldest is lost: each
    /// may hold one of the 128 connections that a guest has, and that must not grow with what a
    /// client leaves unread.
    static constexpr std::size_t most = 64;

    /// `output` stays the caller's.
    explicit Unread(int output) noexcept : output_(output) {}

    /// What nobody is known to have read by then is lost. The output may be closed already.
    ~Unread();

    Unread(const Unread&) = delete;
    Unread& operator=(const Unread&) = delete;

    /// So many bytes more were written.
    void wrote(std::size_t bytes) noexcept { written_ += bytes; }

    /// Whoever uses the output was told that its reader has gone with something unread.
    void broke() noexcept { broken_ = true; }

    /// Whoever uses the output has shut down its side: nothing more is written.
    void shut() noexcept { shut_ = true; }

    /// Runs `then` when what was written until now has been read: at once, or in look(); `lost`
    /// instead, from whatever thread, where that will not be. False when look() has to be called.
    bool when_read(Task then, Task lost = {})
    {
        return when_read(std::move(then), written_, std::move(lost));
    }

    /// The same of the first `end` bytes, which need not have been written yet.
    bool when_read(Task then, std::uint64_t end, Task lost = {});

    /// Runs what is due. How long to wait until the next look: the longer nobody reads, the longer;
    /// below zero when nothing waits.
    std::chrono::milliseconds look();

    /// Until nothing waits, or the reader has gone, or for so long.
    void settle(std::chrono::milliseconds time);

  private:
    struct Waiting {
        std::uint64_t end = 0; ///< in bytes written
        Task then;
        Task lost;
    };

    static void lose(const Waiting& one) noexcept;

    [[nodiscard]] std::uint64_t read_until() noexcept;

    const int output_;
    std::atomic<std::uint64_t> written_ = 0;
    std::atomic<bool> broken_ = false; ///< a socket, closed with something unread in it
    std::atomic<bool> shut_ = false;
    std::mutex mutex_;
    std::deque<Waiting> waiting_;               ///< guarded by mutex_; oldest first
    std::chrono::milliseconds interval_{first}; ///< guarded by mutex_

    static constexpr std::chrono::milliseconds first{1};
    static constexpr std::chrono::milliseconds longest{250};
};

} // namespace berth::transport
