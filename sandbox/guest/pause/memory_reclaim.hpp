#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/workers.hpp"

#include <atomic>
#include <chrono>
#include <memory>

namespace berth::guest {

/// Gives the memory of a paused session back to the host, as far as the kernel can: what its
/// commands have of files in the page cache, and what may go to swap, which is nothing where the
/// kernel counts that (`memory.reclaim` of cgroup v2, Linux 5.19). Belongs to the loop's thread;
/// the kernel's work is done on a worker's.
class MemoryReclaim {
  public:
    struct Options {
        /// A session that is back within a minute, between two turns of a conversation, finds its
        /// files where they were.
        std::chrono::milliseconds after{60'000};
    };

    /// `directory`: of the cgroup that has all commands below it; -1: none. Its file is opened now.
    MemoryReclaim(EventLoop& loop, Workers& workers, int directory)
        : MemoryReclaim(loop, workers, directory, Options())
    {
    }

    MemoryReclaim(EventLoop& loop, Workers& workers, int directory, Options options);
    ~MemoryReclaim();
    MemoryReclaim(const MemoryReclaim&) = delete;
    MemoryReclaim& operator=(const MemoryReclaim&) = delete;

    /// The session is paused now.
    void begin();

    /// It is no more: what is under way ends within a step of some milliseconds.
    void end() noexcept;

  private:
    struct Work {
        UniqueFd file;
        std::atomic<bool> wanted{false};
        std::atomic<bool> running{false};
    };

    void start();
    static void run(Work& work) noexcept;

    EventLoop& loop_;
    Workers& workers_;
    Options options_;
    std::shared_ptr<Work> work_; ///< a worker's too
    EventLoop::TimerId timer_ = 0;
};

} // namespace berth::guest
