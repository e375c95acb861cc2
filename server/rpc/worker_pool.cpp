#include "server/rpc/worker_pool.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace berth::rpc {

struct WorkerPool::State {
    std::size_t limit;
    std::chrono::milliseconds linger;
    std::mutex mutex;
    std::condition_variable work;
    std::condition_variable ended;
    std::deque<std::function<void()>> tasks;
    std::size_t threads = 0;
    std::size_t idle = 0;
    /// A thread was woken or started that has not looked for a task yet.
    bool coming = false;
    bool closing = false;
    std::atomic<bool> has_tasks = false; ///< to look without the mutex

    /// With the mutex: has a thread come for the tasks. One that is on its way calls the next if it
    /// leaves any, so of many short tasks a few threads take all, instead of each waking one of its
    /// own, which takes longer than the task. True: `work` is to be notified of one, without the
    /// mutex, for which the woken thread would have to wait. Throws std::system_error.
    [[nodiscard]] static bool call_one(const std::shared_ptr<State>& state)
    {
        if (state->coming || state->tasks.empty()) {
            return false;
        }
        const bool wakes = state->idle > 0;
        if (!wakes && state->threads < state->limit) {
            std::thread(&WorkerPool::work, state).detach();
            ++state->threads;
        } else if (!wakes) {
            return false; // whoever is ready next takes it
        }
        state->coming = true;
        return wakes;
    }

    /// With the mutex, when there is one.
    std::function<void()> take()
    {
        auto task = std::move(tasks.front());
        tasks.pop_front();
        has_tasks = !tasks.empty();
        return task;
    }

    /// As the one that is coming: a client whose call was answered mostly sends the next at once,
    /// and to be woken for it takes longer than many a call. It does not give its processor up
    /// meanwhile: where others want it, the call would wait until it has it again.
    void look_for_a_moment(std::unique_lock<std::mutex>& lock)
    {
        constexpr std::chrono::microseconds moment{20};
        coming = true;
        lock.unlock();
        const auto end = std::chrono::steady_clock::now() + moment;
        while (!has_tasks.load(std::memory_order_relaxed) &&
               std::chrono::steady_clock::now() < end) {
        }
        lock.lock();
        coming = false;
    }

    /// False: none came for `linger`, or none will.
    bool wait_for_task(std::unique_lock<std::mutex>& lock)
    {
        const auto end = std::chrono::steady_clock::now() + linger;
        if (tasks.empty() && !coming && !closing) {
            look_for_a_moment(lock);
        }
        while (tasks.empty()) {
            if (closing || std::chrono::steady_clock::now() >= end) {
                return false;
            }
            ++idle;
            work.wait_until(lock, end);
            --idle;
            coming = false; // whoever was called, this one looks
        }
        return true;
    }
};

WorkerPool::WorkerPool(std::size_t limit, std::chrono::milliseconds linger)
    : state_(std::make_shared<State>())
{
    state_->limit = limit;
    state_->linger = linger;
}

WorkerPool::~WorkerPool()
{
    std::unique_lock lock(state_->mutex);
    state_->closing = true;
    state_->work.notify_all();
    state_->ended.wait(lock, [this] { return state_->threads == 0; });
}

void WorkerPool::run(std::function<void()> task)
{
    std::unique_lock lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    state_->has_tasks = true;
    bool wakes = false;
    try {
        wakes = State::call_one(state_);
    } catch (const std::system_error&) {
        if (state_->threads == 0) {
            state_->tasks.pop_back();
            state_->has_tasks = false;
            throw;
        }
    }
    lock.unlock();
    if (wakes) {
        state_->work.notify_one();
    }
}

void WorkerPool::work(const std::shared_ptr<State>& state) noexcept
{
    std::unique_lock lock(state->mutex);
    state->coming = false;
    while (state->wait_for_task(lock)) {
        auto task = state->take();
        bool wakes = false;
        try {
            wakes = State::call_one(state); // this task may take long
        } catch (const std::system_error&) {
            wakes = false; // they wait for a thread that is ready
        }
        lock.unlock();
        if (wakes) {
            state->work.notify_one();
        }
        task();
        task = nullptr; // whatever it holds goes before the next is taken
        lock.lock();
    }
    --state->threads;
    state->ended.notify_all();
}

std::size_t WorkerPool::threads() const noexcept
{
    const std::lock_guard lock(state_->mutex);
    return state_->threads;
}

WorkerPool::Load WorkerPool::load() const noexcept
{
    const std::lock_guard lock(state_->mutex);
    return {.limit = state_->limit,
            .threads = state_->threads,
            .idle = state_->idle,
            .waiting = state_->tasks.size()};
}

} // namespace berth::rpc
