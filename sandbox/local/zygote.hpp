#pragma once

#include "sandbox/base/process.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

namespace berth::local {

/// The process that this server's launchers are forked from. Started once, by the first launcher
/// that is wanted: it runs a copy of their program in memory that is sealed against every change,
/// and has done what is the same for all of them. What it has written to its memory by then they
/// share, and the guests that they become. It knows nothing of any session, and ends when this
/// process does. Safe to call from several threads.
class Zygote {
  public:
    /// `patience`: with one that does not answer.
    Zygote(std::string program, std::chrono::milliseconds patience);
    ~Zygote();
    Zygote(const Zygote&) = delete;
    Zygote& operator=(const Zygote&) = delete;

    /// A launcher, and this process's ends of what it has as launcher_control_fd and
    /// launcher_wake_fd.
    struct Forked {
        Process process; ///< a child of this one, in a session of its own
        UniqueFd control;
        UniqueFd wake;
    };

    /// `cgroup`: it is for a machine that nobody has asked for yet, and makes of it what it can,
    /// with cgroups of that name; empty: it has something to do. A zygote that has died is started
    /// anew. Nothing where this host runs no program from memory, or the zygote cannot work there:
    /// a launcher that is started by itself has the same trouble then and can tell it, or has none.
    /// Throws Failure, std::system_error.
    [[nodiscard]] std::optional<Forked> fork_launcher(const std::string& cgroup);

    /// The launchers that are forked from here on have `ahead` (an encoded Ahead) made. Waits for
    /// other calls only.
    void prepare(const std::string& ahead);

  private:
    [[nodiscard]] bool start();
    [[nodiscard]] int copy();
    void stop() noexcept;
    [[nodiscard]] std::optional<int> ask(UniqueFd theirs, int control, int wake,
                                         const std::string& cgroup);
    [[nodiscard]] std::optional<Forked> try_to_fork(std::optional<int>& answer,
                                                    const std::string& cgroup);

    const std::string program_;
    const std::chrono::milliseconds patience_;
    std::mutex mutex_;
    UniqueFd copy_;    ///< guarded by mutex_, then kept
    Process process_;  ///< guarded by mutex_
    UniqueFd socket_;  ///< guarded by mutex_
    std::string told_; ///< guarded by mutex_; what it was told to make ahead
};

/// What a launcher is woken with. Throws std::system_error.
[[nodiscard]] UniqueFd make_launcher_wake();

} // namespace berth::local
