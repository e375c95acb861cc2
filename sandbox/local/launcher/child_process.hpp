#pragma once

#include <csignal>
#include <utility>

#include <sys/types.h>
#include <sys/wait.h>

namespace berth::local {

/// A child that ends with this: killed and waited for by the destructor, unless released. Nobody
/// else waits for it, so that its number stays its own.
class ChildProcess {
  public:
    explicit ChildProcess(pid_t pid) noexcept : pid_(pid) {}

    ~ChildProcess() { end(); }

    ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

    ChildProcess& operator=(ChildProcess&& other) noexcept
    {
        if (this != &other) {
            end();
            pid_ = std::exchange(other.pid_, -1);
        }
        return *this;
    }

    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    void release() noexcept { pid_ = -1; }

  private:
    void end() const noexcept
    {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    pid_t pid_;
};

} // namespace berth::local
