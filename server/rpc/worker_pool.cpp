#include "server/rpc/worker_pool.hpp"

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
    bool closing = false;
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
    const std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    // Idle threads that are already promised a task in the queue do not count.
    if (state_->tasks.size() <= state_->idle || state_->threads >= state_->limit) {
        state_->work.notify_one();
        return;
    }
    try {
        std::thread(&WorkerPool::work, state_).detach();
        ++state_->threads;
    } catch (const std::system_error&) {
        if (state_->threads == 0) {
            state_->tasks.pop_back();
            throw;
        }
    }
}

void WorkerPool::work(const std::shared_ptr<State>& state) noexcept
{
    std::unique_lock lock(state->mutex);
    for (;;) {
        if (state->tasks.empty()) {
            ++state->idle;
            const bool woken = state->work.wait_for(
                lock, state->linger, [&] { return state->closing || !state->tasks.empty(); });
            --state->idle;
            if (!woken || state->tasks.empty()) {
                break;
            }
        }
        auto task = std::move(state->tasks.front());
        state->tasks.pop_front();
        lock.unlock();
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
