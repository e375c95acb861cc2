#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace berth::guest {

/// epoll, timers and a mailbox. All members but post() and stop() belong to the thread in run();
/// callbacks run on it and must not block. A callback may add and remove watches and timers, its
/// own included. An exception that leaves a callback leaves run().
class EventLoop {
  public:
    using Ready = std::function<void(std::uint32_t events)>;
    using Task = std::function<void()>;
    using TimerId = std::uint64_t;

    /// Whole pages: else those at its ends could not go back by themselves.
    struct alignas(4096) ReadBuffer {
        std::array<char, 64UL * 1024> bytes;
    };

    EventLoop() : EventLoop(std::make_unique_for_overwrite<ReadBuffer>(), nullptr) {}

    /// With a buffer that is not on the heap, where it would lie between what is in use.
    explicit EventLoop(ReadBuffer& buffer) : EventLoop(nullptr, &buffer) {}

    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    /// `fd` stays the caller's and must be unwatched before it is closed. `events`: EPOLLIN ...
    void watch(int fd, std::uint32_t events, Ready ready);
    void change(int fd, std::uint32_t events);
    /// Another callback for what is watched already. Cannot fail.
    void hand_over(int fd, Ready ready) noexcept;
    void unwatch(int fd) noexcept;

    [[nodiscard]] TimerId call_at(BootClock::time_point at, Task task);
    /// After so much time in which the host was awake: for the patience with something that can do
    /// nothing while it is suspended.
    [[nodiscard]] TimerId call_awake(std::chrono::nanoseconds time, Task task);
    /// Of a timer that has fired or was cancelled: nothing happens.
    void cancel(TimerId timer) noexcept;

    /// Runs `task` on the loop's thread soon. Thread-safe.
    void post(Task task);

    /// For whoever reads in a callback, all of them the same: what is in it holds until the next
    /// one reads. Not on the stack, of which guards against stack clashes touch each page, so that
    /// it would stay in the memory of an idle session; here only what was read does.
    [[nodiscard]] std::span<char> read_buffer() const noexcept { return read_buffer_->bytes; }

    /// What is in it is lost, and its memory goes back until somebody reads again.
    void release_read_buffer() noexcept;

    /// `task`: run when of all that is watched or posted nothing has come for so long, up to twice
    /// that, and again only after something has.
    void on_rest(std::chrono::milliseconds after, Task task);

    void run();
    /// Makes run() return once it has run what was posted before; a run() that has not begun yet
    /// returns at once. Thread-safe.
    void stop() noexcept;

  private:
    struct Watch;

    struct Timer {
        Task task;
        std::optional<Deadline> awake; ///< of call_awake()
    };

    EventLoop(std::unique_ptr<ReadBuffer> own, ReadBuffer* buffer);
    void dispatch(std::uint64_t tag, std::uint32_t events);
    [[nodiscard]] bool run_posted();
    void set_timer(TimerId id, BootClock::time_point at, Timer timer);
    void run_timers();
    void arm_timer();
    void wake() const noexcept;
    void await_rest();

    Task on_rest_;
    std::chrono::milliseconds rest_after_{0};
    bool rest_awaited_ = false;       ///< a timer is set for it
    std::uint64_t happened_ = 0;      ///< so many events
    std::uint64_t happened_then_ = 0; ///< when that timer was set
    UniqueFd epoll_;
    UniqueFd wake_;
    UniqueFd timer_;
    BootClock::time_point armed_ = BootClock::time_point::max(); ///< when timer_ fires
    std::uint32_t next_serial_ = 1;
    std::unordered_map<int, std::shared_ptr<Watch>> watches_;
    std::map<std::pair<BootClock::time_point, TimerId>, Timer> timers_;
    std::unordered_map<TimerId, BootClock::time_point> timer_times_;
    TimerId next_timer_ = 1;
    std::unique_ptr<ReadBuffer> own_buffer_; ///< if none was given
    ReadBuffer* read_buffer_;
    std::mutex mutex_;
    std::vector<Task> posted_; ///< guarded by mutex_
    bool stopping_ = false;    ///< guarded by mutex_
};

} // namespace berth::guest
