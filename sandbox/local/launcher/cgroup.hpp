#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <string>
#include <vector>

namespace berth::local {

/// The cgroups of one session:
///
///     <base>/berth/<name>/guest     the guest, with a small limit of its own
///     <base>/berth/<name>/cmds      the limits of all commands together
///     <base>/berth/<name>/cmds/run  (v2) handed to the guest, one child for each command
///
/// Only `run` is the session user's, and a process inside sees nothing above it: the limits cannot
/// be reached. Removed by the destructor unless keep() was called.
class Cgroups {
  public:
    explicit Cgroups(const LaunchSpec& spec);
    ~Cgroups();
    Cgroups(const Cgroups&) = delete;
    Cgroups& operator=(const Cgroups&) = delete;

    void keep() noexcept { kept_ = true; }

    /// For CLONE_INTO_CGROUP of the guest; -1: none.
    [[nodiscard]] int guest_fd() const noexcept { return guest_.get(); }

    /// Empty: commands get no cgroups.
    [[nodiscard]] const std::string& run_path() const noexcept { return run_path_; }

    /// For a guest that cannot start commands in cgroups of their own: v2 limits then hold for it
    /// and them together, since outside of limits no command may run. (v1 is joined otherwise.)
    void keep_commands_with_guest(const CgroupSpec& spec) const;

    /// In the child, which is single-threaded: joins the guest's v1 cgroups.
    void join_v1_guest() const;

    [[nodiscard]] const std::vector<UniqueFd>& command_tasks() const noexcept
    {
        return command_tasks_;
    }

    [[nodiscard]] int oom_events_fd() const noexcept { return oom_events_.get(); }

  private:
    void make_v2(const LaunchSpec& spec);
    void make_v1(const std::string& base, const LaunchSpec& spec);
    std::string make_session_directory(const std::string& base, const std::string& name);

    std::vector<std::string> made_;
    bool kept_ = false;
    UniqueFd guest_;
    std::string run_path_;
    std::vector<UniqueFd> guest_tasks_;
    std::vector<UniqueFd> command_tasks_;
    UniqueFd oom_events_;
};

} // namespace berth::local
