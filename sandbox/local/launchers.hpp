#pragma once

#include "sandbox/base/process.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/handover.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/zygote.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace berth::local {

/// Launches machines, each by a launcher process of its own. After the first launch one launcher is
/// kept waiting for the next. Of that one's machine it has made what expect() says;
/// it ends when this process does, and with it what it has made. Safe to call from several threads.
class Launchers {
  public:
    /// `with_guest`: the launchers become the guest themselves, where a Zygote of `program` can be
    /// had; else they start the one that the spec names. `patience`: with a
    /// launcher that does not answer; longer than its own with the guest.
    /// `beside` makes what else the next machine will need: it is called by a thread of this, which
    /// it may not throw into, once a launcher waits and no other machine has been wanted for 5 ms.
    explicit Launchers(std::string program, bool with_guest = false,
                       std::chrono::milliseconds patience = std::chrono::seconds(30),
                       std::function<void()> beside = {});
    ~Launchers();
    Launchers(const Launchers&) = delete;
    Launchers& operator=(const Launchers&) = delete;

    /// A launcher that is to make one machine: the one that waits, or one that is started for it.
    /// The one that waits is woken by this, and looks whether what it has made ahead is of use
    /// while its caller finds out what to ask of it. Ends with this if it was not used. Outlived by
    /// its Launchers.
    class Reserved;
    [[nodiscard]] Reserved reserve();

    /// Gives a launcher the spec and waits for its answer. `meanwhile` makes the server's part of
    /// the handover, and the sources of the late binds, while the launcher is at work; when it
    /// throws the launch is undone and that exception passed on. `then` is for what nobody waits
    /// for: it runs after that, once the launcher has mounted what it is to; when it throws a guest
    /// that has come to be is killed, and that exception passed on. Throws Failure when no launcher
    /// can be started, and std::system_error; everything else is in the result.
    [[nodiscard]] LaunchResult launch(Reserved reserved, LaunchSpec spec, const Lent& lent,
                                      const std::function<Handover()>& meanwhile,
                                      const std::function<void()>& then);

    /// Of what needs nothing of the server.
    [[nodiscard]] LaunchResult launch(LaunchSpec spec, const Lent& lent);

    /// The launchers that will wait from here on make this ahead. Only as root: an ordinary user
    /// may mount nothing outside of a sandbox.
    void expect(const Ahead& ahead);

  private:
    struct Launcher {
        Process process;
        UniqueFd control;
        UniqueFd wake;
        bool has_guest = false; ///< it was forked from the zygote
        std::string cgroup;     ///< which it may have made ahead
        /// Once it was woken: the processors that it may have again.
        std::optional<std::string> processors;
    };

    static void wake(Launcher& launcher);
    [[nodiscard]] Launcher start(const std::string& cgroup);
    [[nodiscard]] static bool send(Launcher& launcher, LaunchSpec& spec, const Lent& lent);
    void done(Launcher launcher) noexcept;
    void keep_one_waiting(const std::stop_token& stop);
    void start_waiting(const std::string& expected);

    const std::string program_;
    const std::chrono::milliseconds patience_;
    const std::function<void()> beside_;
    std::optional<Zygote> zygote_; ///< where the launchers become the guest; only set up once
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<Launcher> waiting_; ///< guarded by mutex_
    std::vector<Launcher> ending_;    ///< guarded by mutex_; nobody needs them any more
    bool wanted_ = false;             ///< guarded by mutex_; one is to be started
    std::string expected_;            ///< guarded by mutex_; encoded base of the next specs
    std::jthread keeper_;             ///< started by the first launch; last: it uses the others
};

class Launchers::Reserved {
  public:
    Reserved(Launchers& from, std::optional<Launcher> launcher);
    ~Reserved();
    Reserved(Reserved&& other) noexcept;
    Reserved& operator=(Reserved&&) = delete;
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;

    /// What the machine's cgroups are to be called, if not empty: the launcher may have them.
    [[nodiscard]] std::string cgroup() const;

  private:
    friend class Launchers;
    [[nodiscard]] Launcher take();

    Launchers* from_;
    std::optional<Launcher> launcher_;
};

} // namespace berth::local
