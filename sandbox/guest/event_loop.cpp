#include "sandbox/guest/event_loop.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace berth::guest {
namespace {

// Tags of the loop's own descriptors; a watch's tag has a serial above 0 in its upper half.
constexpr std::uint64_t wake_tag = 1;
constexpr std::uint64_t timer_tag = 2;

void epoll_add(int epoll, int fd, std::uint32_t events, std::uint64_t tag)
{
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        throw_errno("epoll_ctl add");
    }
}

void drain(int fd) noexcept
{
    std::uint64_t count = 0;
    (void)!::read(fd, &count, sizeof(count));
}

} // namespace

struct EventLoop::Watch {
    std::uint64_t tag;
    Ready ready;
};

EventLoop::EventLoop(std::unique_ptr<ReadBuffer> own, ReadBuffer* buffer)
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
      own_buffer_(std::move(own)), read_buffer_(buffer != nullptr ? buffer : own_buffer_.get())
{
    if (!epoll_ || !wake_ || !timer_) {
        throw_errno("make the event loop");
    }
    epoll_add(epoll_.get(), wake_.get(), EPOLLIN, wake_tag);
    epoll_add(epoll_.get(), timer_.get(), EPOLLIN, timer_tag);
}

EventLoop::~EventLoop() = default;

void EventLoop::watch(int fd, std::uint32_t events, Ready ready)
{
    // A descriptor that was closed and opened again within one batch of events has a new serial, so
    // that an event of the old one cannot reach the new one's callback.
    const std::uint64_t tag =
        (static_cast<std::uint64_t>(next_serial_) << 32U) | static_cast<std::uint32_t>(fd);
    next_serial_ = next_serial_ == UINT32_MAX ? 1 : next_serial_ + 1;
    epoll_add(epoll_.get(), fd, events, tag);
    watches_.insert_or_assign(fd, std::make_shared<Watch>(Watch{tag, std::move(ready)}));
}

void EventLoop::change(int fd, std::uint32_t events)
{
    epoll_event event{};
    event.events = events;
    event.data.u64 = watches_.at(fd)->tag;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) {
        throw_errno("epoll_ctl modify");
    }
}

void EventLoop::hand_over(int fd, Ready ready) noexcept
{
    // Not the old Watch's: it may be the one whose callback runs just now.
    const auto found = watches_.find(fd);
    found->second = std::make_shared<Watch>(Watch{found->second->tag, std::move(ready)});
}

void EventLoop::unwatch(int fd) noexcept
{
    if (watches_.erase(fd) != 0) {
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    }
}

EventLoop::TimerId EventLoop::call_at(BootClock::time_point at, Task task)
{
    const TimerId id = next_timer_++;
    set_timer(id, at, {std::move(task), std::nullopt});
    return id;
}

EventLoop::TimerId EventLoop::call_awake(std::chrono::nanoseconds time, Task task)
{
    const TimerId id = next_timer_++;
    set_timer(id, BootClock::now() + time, {std::move(task), Deadline::after(time)});
    return id;
}

void EventLoop::set_timer(TimerId id, BootClock::time_point at, Timer timer)
{
    timers_.emplace(std::pair(at, id), std::move(timer));
    timer_times_.emplace(id, at);
}

void EventLoop::cancel(TimerId timer) noexcept
{
    const auto found = timer_times_.find(timer);
    if (found != timer_times_.end()) {
        timers_.erase({found->second, timer});
        timer_times_.erase(found);
    }
}

void EventLoop::post(Task task)
{
    {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(task));
    }
    // Each for itself: who posted before has yet to ring, perhaps, and is a thread that a command
    // can keep from the processor (docs/security.md).
    wake();
}

void EventLoop::stop() noexcept
{
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake();
}

void EventLoop::wake() const noexcept
{
    berth::wake(wake_.get());
}

void EventLoop::release_read_buffer() noexcept
{
    // Not freed: it is wanted again where there may be no memory. With larger pages it just stays.
    (void)::madvise(read_buffer_, sizeof(ReadBuffer), MADV_DONTNEED);
}

void EventLoop::on_rest(std::chrono::milliseconds after, Task task)
{
    rest_after_ = after;
    on_rest_ = std::move(task);
    await_rest();
}

/// One timer for a burst of events, however many, and not one for each wait: of each the clock of a
/// virtual machine has to be told.
void EventLoop::await_rest()
{
    if (!on_rest_ || rest_awaited_) {
        return;
    }
    rest_awaited_ = true;
    happened_then_ = happened_;
    (void)call_at(BootClock::now() + rest_after_, [this] {
        rest_awaited_ = false;
        if (happened_ == happened_then_) {
            on_rest_();
        } else {
            await_rest();
        }
    });
}

void EventLoop::run()
{
    while (!run_posted()) {
        const bool due = !timers_.empty() && timers_.begin()->first.first <= BootClock::now();
        if (!due) {
            arm_timer();
        }
        std::array<epoll_event, 32> events{};
        const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                       due ? 0 : -1);
        if (count < 0 && errno != EINTR) {
            throw_errno("epoll_wait");
        }
        for (int i = 0; i < count; ++i) {
            const auto& event = events.at(static_cast<std::size_t>(i));
            if (event.data.u64 != timer_tag) {
                ++happened_;
                await_rest();
            }
            dispatch(event.data.u64, event.events);
        }
        if (due) {
            run_timers(); // without the clock's interrupt, of which a virtual machine has to be
                          // told
        }
    }
}

void EventLoop::dispatch(std::uint64_t tag, std::uint32_t events)
{
    if (tag == wake_tag) {
        drain(wake_.get());
        return;
    }
    if (tag == timer_tag) {
        drain(timer_.get());
        armed_ = BootClock::time_point::max();
        run_timers();
        return;
    }
    const auto found = watches_.find(static_cast<int>(tag & UINT32_MAX));
    if (found != watches_.end() && found->second->tag == tag) {
        const auto watch = found->second; // lives on when the callback removes itself
        watch->ready(events);
    }
}

bool EventLoop::run_posted()
{
    std::vector<Task> tasks;
    bool stopping = false;
    {
        const std::lock_guard lock(mutex_);
        tasks.swap(posted_);
        stopping = std::exchange(stopping_, false);
    }
    for (auto& task : tasks) {
        task();
        task = nullptr; // what it holds is not kept until the last one has run
    }
    return stopping;
}

void EventLoop::run_timers()
{
    const auto now = BootClock::now();
    // The due ones are named first: a task that sets a timer for now must not keep the loop here.
    std::vector<std::pair<BootClock::time_point, TimerId>> due;
    for (auto at = timers_.begin(); at != timers_.end() && at->first.first <= now; ++at) {
        due.push_back(at->first);
    }
    for (const auto& key : due) {
        const auto found = timers_.find(key); // not there: an earlier task cancelled it
        if (found != timers_.end()) {
            Timer timer = std::move(found->second);
            timers_.erase(found);
            timer_times_.erase(key.second);
            if (const auto left = timer.awake ? timer.awake->poll_timeout() : 0; left > 0) {
                set_timer(key.second, now + std::chrono::milliseconds(left), std::move(timer));
                continue; // the host was suspended meanwhile
            }
            timer.task();
        }
    }
}

/// Only for a time before the one that is set: a timer that was cancelled fires for nothing once,
/// which is cheaper than a system call for each command's timeout. A timerfd and not the timeout of
/// epoll_wait, because that one stands still while the host is suspended.
void EventLoop::arm_timer()
{
    if (timers_.empty() || timers_.begin()->first.first >= armed_) {
        return;
    }
    armed_ = timers_.begin()->first.first;
    // A time of zero would disarm.
    const auto since =
        std::max(armed_.time_since_epoch(), BootClock::duration(std::chrono::nanoseconds(1)));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    itimerspec spec{};
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (since - seconds).count();
    if (::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) != 0) {
        throw_errno("timerfd_settime");
    }
}

} // namespace berth::guest
