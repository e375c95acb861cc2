#pragma once

#include "sandbox/base/deadline.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace berth::sandbox {

/// What is still to be said of answers whose connections are gone: that they were had, that nobody
/// wants them, or that they could not be asked for or have reached nobody. It goes with the next
/// hello, so it costs no connection; where none comes it has to be said in time, since the guest
/// takes this server for gone when it has heard nothing for its lease. Thread-safe.
class LateWords {
  public:
    using Time = BootClock::time_point;

    /// Names of calls.
    struct Words {
        std::vector<std::string> seen;
        std::vector<std::string> declined;
        std::vector<std::string> given_up;
    };

    /// In one hello, which has to stay below protocol::max_hello_size.
    static constexpr std::size_t most = 64;

    explicit LateWords(std::chrono::milliseconds lease);

    void seen(const std::string& call);
    void declined(const std::string& call);
    void given_up(const std::string& call);

    /// The oldest `most`. They are said again until told() says that they arrived.
    [[nodiscard]] Words some() const;
    void told(const Words& words);

    [[nodiscard]] std::size_t size() const;

    /// A call has been made, or has ended: the lease runs from now.
    void renewed();

    /// Whether this server is to be there also while it makes no call: jobs run, and would sleep or
    /// end with a machine that nobody is thought to use.
    void stays(bool does);
    [[nodiscard]] bool stays() const;

    /// When they have to be said, should no call come before, or that this server stays: in the
    /// middle of the lease. Nothing: there is nothing to say, or it was tried often enough, and the
    /// next call says it; one that stays goes on, as rarely as it says it else.
    [[nodiscard]] std::optional<Time> due() const;

    /// They could not be said: later, for as long as the lease may last.
    void put_off();

    /// `due`: called with that time at each new word, by whoever says it. Must neither throw nor
    /// wait.
    void on_due(std::function<void(Time)> due);

    /// Has `due` called with the time of something else.
    void also_due(Time time) const;

  private:
    void add(std::vector<std::string> Words::* to, const std::string& call);
    [[nodiscard]] std::size_t count() const;
    [[nodiscard]] std::optional<Time> time() const;
    void changed() const;

    const std::chrono::milliseconds lease_;
    mutable std::mutex mutex_;
    Words words_; ///< guarded by mutex_, as what follows
    Time renewed_;
    Time not_before_;
    int tries_ = 0;
    bool stays_ = false;
    std::function<void(Time)> on_due_;
};

} // namespace berth::sandbox
