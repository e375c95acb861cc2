#pragma once

#include "sandbox/base/process.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace berth::local {

/// Launches machines, each by a launcher process of its own. After the first launch one launcher is
/// kept waiting for the next: the start of a program is a fifth of what a machine takes. It has
/// made nothing yet, no namespace and no cgroup, and ends when this process does. Safe to call from
/// several threads.
class Launchers {
  public:
    explicit Launchers(std::string program);
    ~Launchers();
    Launchers(const Launchers&) = delete;
    Launchers& operator=(const Launchers&) = delete;

    /// Gives a launcher the spec and waits for its answer. `lifetime_fd`: the read end of the
    /// lifetime pipe, or -1. Throws std::system_error when no launcher can be started; everything
    /// else is in the result.
    [[nodiscard]] LaunchResult launch(const LaunchSpec& spec, int lifetime_fd);

  private:
    struct Launcher {
        Process process;
        UniqueFd control;
    };

    [[nodiscard]] Launcher start() const;
    [[nodiscard]] Launcher take();
    void done(Launcher launcher) noexcept;
    void keep_one_waiting(const std::stop_token& stop);

    const std::string program_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<Launcher> waiting_; ///< guarded by mutex_
    std::vector<Launcher> ending_;    ///< guarded by mutex_; have answered
    bool wanted_ = false;             ///< guarded by mutex_; one is to be started
    std::jthread keeper_;             ///< started by the first launch; last: it uses the others
};

} // namespace berth::local
