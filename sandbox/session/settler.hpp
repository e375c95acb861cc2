#pragma once

#include "sandbox/session/parts.hpp"
#include "sandbox/session/slot.hpp"

#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

// Of the session manager alone.

namespace berth::session {

/// Has the books let go of what was told from them as soon as it was read: of a server that is
/// killed before its session's next call the next one would tell it again. One thread for all
/// sessions, which begins with the first of which there is something to tell. Thread-safe.
class Settler {
  public:
    Settler();
    ~Settler();
    Settler(const Settler&) = delete;
    Settler& operator=(const Settler&) = delete;

    /// Of what the slot has taken from the books just now. Where there is no thread for it, or no
    /// memory, the session's next call settles it, or the server's end.
    void watch(const std::shared_ptr<Slot>& slot, const std::shared_ptr<Parts>& parts) noexcept;

    /// Begins nothing more. Does not wait for what is being settled.
    void stop() noexcept;

  private:
    class Bell;
    using Watched = std::pair<std::weak_ptr<Slot>, std::shared_ptr<Parts>>;

    void run(const std::stop_token& stop);
    [[nodiscard]] bool settle_what_is_read(const std::stop_token& stop);

    const std::shared_ptr<Bell> bell_; ///< what rings it may outlive this
    std::mutex mutex_;                 ///< guards what follows
    std::vector<Watched> watched_;
    std::jthread thread_; ///< last: it uses the others
};

} // namespace berth::session
