#pragma once

#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace berth::guest::search {

/// What is left to do, shared by threads that also add to it. Last in, first out: a tree is walked
/// depth first, so few directories are open and few tasks wait at a time. A task may stand for
/// many: `bool Task::split(Task& one)` takes one of them out of it, or returns false when there is
/// only one left, which it then is itself.
template <class Task>
class TaskStack {
  public:
    void push(std::vector<Task> tasks)
    {
        if (tasks.empty()) {
            return;
        }
        const std::lock_guard lock(mutex_);
        if (abandoned_) {
            return;
        }
        unfinished_ += tasks.size();
        std::move(tasks.begin(), tasks.end(), std::back_inserter(tasks_));
        if (waiting_ > 0) {
            changed_.notify_all();
        }
    }

    /// Waits for a task. False when all are finished. After a task: finish().
    [[nodiscard]] bool pop(Task& task)
    {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.wait(lock, [&] { return !tasks_.empty() || unfinished_ == 0 || abandoned_; });
        --waiting_;
        if (tasks_.empty()) {
            return false;
        }
        if (tasks_.back().split(task)) {
            ++unfinished_;
            return true;
        }
        task = std::move(tasks_.back());
        tasks_.pop_back();
        return true;
    }

    void finish()
    {
        const std::lock_guard lock(mutex_);
        if (--unfinished_ == 0) {
            changed_.notify_all();
        }
    }

    /// Forgets what nobody has begun; nothing more is taken.
    void abandon()
    {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
        unfinished_ -= tasks_.size();
        tasks_.clear();
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Task> tasks_;    ///< guarded by mutex_, as all below
    std::size_t unfinished_ = 0; ///< waiting or in work
    std::size_t waiting_ = 0;
    bool abandoned_ = false;
};

} // namespace berth::guest::search
