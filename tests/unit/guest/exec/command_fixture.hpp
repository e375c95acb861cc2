#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/commands.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace berth::guest::test {

/// What one command came to.
struct Outcome {
    protocol::ExecuteReply reply;
    std::exception_ptr error;
    std::chrono::milliseconds took{0};
};

enum class Mode { subreaper, cgroup };

/// The modes that this host allows.
[[nodiscard]] std::vector<Mode> modes();

[[nodiscard]] std::string name_of(Mode mode);

template <class Function>
void in_each_mode(Function function)
{
    for (const Mode mode : modes()) {
        CAPTURE(name_of(mode));
        function(mode);
    }
}

/// A guest's command runner on a real loop, in a home of its own below /tmp. The test process is
/// its subreaper. The destructor stops what still runs and removes everything.
class Guest {
  public:
    using Configure = std::function<void(protocol::GuestConfig&)>;

    explicit Guest(Mode mode, const Configure& configure = {},
                   ShellProgram shell = ShellProgram::find());
    ~Guest();
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;

    [[nodiscard]] static protocol::ExecuteRequest request(const std::string& command,
                                                          std::uint64_t timeout = 20'000);

    /// Starts it; the outcome appears in *wait_for(handle).
    [[nodiscard]] std::size_t start(const protocol::ExecuteRequest& request,
                                    const std::string& asker = {},
                                    const std::function<void()>& began = {});
    [[nodiscard]] std::optional<Outcome>& outcome(std::size_t handle);
    /// Runs the loop until it is there.
    Outcome wait_for(std::size_t handle);
    Outcome run(const protocol::ExecuteRequest& request);
    Outcome run(const std::string& command, std::uint64_t timeout = 20'000);

    /// Runs the loop for so long.
    void spin(std::chrono::milliseconds time);
    /// Runs the loop until `condition` holds; false after 5 s.
    bool until(const std::function<bool()>& condition);

    [[nodiscard]] const std::string& home() const noexcept { return home_; }

    EventLoop loop;
    Workers workers;
    std::optional<SessionState> session;
    std::optional<Commands> commands;

  private:
    std::string home_;
    std::string cgroup_;
    UniqueFd cgroup_fd_;
    std::vector<std::optional<Outcome>> outcomes_;
};

/// Runs `play` in a child that is an ordinary user, as whom the limit on processes binds, and
/// checks that it returns 0.
void as_ordinary_user(unsigned uid, const std::function<int()>& play);

/// Processes whose command line contains `text`.
[[nodiscard]] std::size_t processes_with(const std::string& text);

/// A word for a command line that no other process has.
[[nodiscard]] std::string unique_word();

} // namespace berth::guest::test
