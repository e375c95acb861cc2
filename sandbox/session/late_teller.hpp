#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/sandbox.hpp"

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::session {

/// Says that results were read where no next call of the server says so in time, and the guest
/// would take them for unread, and has machines sleep that nobody uses: machines to which no
/// connection is kept (sandbox/late_words.hpp). One thread for all of a server's sessions, which
/// begins with the first of those and sleeps while there is nothing to say. Thread-safe.
class LateTeller {
  public:
    LateTeller();
    ~LateTeller();
    LateTeller(const LateTeller&) = delete;
    LateTeller& operator=(const LateTeller&) = delete;

    /// For as long as it is there. Nothing, of a machine to which connections are kept. Where the
    /// host has no thread for it, or no memory, results may be told as unread to other servers.
    void watch(const std::shared_ptr<sandbox::Sandbox>& sandbox) noexcept;

    /// Begins nothing more. Does not wait for what is being said.
    void stop() noexcept;

  private:
    class Alarm;

    void run(const std::stop_token& stop);
    [[nodiscard]] std::vector<std::shared_ptr<sandbox::Sandbox>> living();
    [[nodiscard]] BootClock::time_point say_what_is_due(const std::stop_token& stop);

    const std::shared_ptr<Alarm> alarm_; ///< what says that there are words may outlive this
    std::mutex mutex_;                   ///< guards what follows
    std::vector<std::weak_ptr<sandbox::Sandbox>> watched_;
    std::jthread thread_; ///< last: it uses the others
};

} // namespace berth::session
