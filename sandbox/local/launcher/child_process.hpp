#pragma once

#include <csignal>
#include <utility>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

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

    /// Whether somebody has killed it. Of one that is seen to end, which takes it a moment more.
    [[nodiscard]] bool was_killed() const noexcept
    {
        constexpr int tries = 100;
        for (int i = 0; pid_ > 0 && i < tries; ++i) {
            siginfo_t end{};
            if (::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) != 0) {
                return false;
            }
            if (end.si_pid != 0) {
                return end.si_code == CLD_KILLED && end.si_status == SIGKILL;
            }
            ::usleep(1000);
        }
        return false;
    }

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
