#pragma once

#include "sandbox/session/session_manager.hpp"

#include <mutex>
#include <utility>

namespace berth::server {

/// The way back of notices whose result nobody has read, for as long as there is somebody to tell
/// them again. An answer is given up with its connection, which may outlive whoever made it by a
/// minute: a caller could else have the server use what was freed. What is not taken is not lost,
/// since the books and the guest have it until it was read. Thread-safe.
class UnreadNotices {
  public:
    explicit UnreadNotices(session::SessionManager& sessions) noexcept : sessions_(&sessions) {}

    void take(const session::SessionId& id, session::Told told)
    {
        const std::lock_guard lock(mutex_);
        if (sessions_ != nullptr) {
            sessions_->report_unread(id, std::move(told));
        }
    }

    /// Before the sessions go. Waits for who is just bringing some.
    void close() noexcept
    {
        const std::lock_guard lock(mutex_);
        sessions_ = nullptr;
    }

  private:
    std::mutex mutex_;
    session::SessionManager* sessions_; ///< guarded by mutex_
};

} // namespace berth::server
