#pragma once

#include "sandbox/protocol/guest_config.hpp"

#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace berth::guest {

class HomeQuota;
class ProtectedWrites;
class ReplacedFiles;

/// What belongs to the session and is shared by its calls. Thread-safe.
class SessionState {
  public:
    explicit SessionState(std::string home) : cwd_(std::move(home)) {}

    [[nodiscard]] std::string cwd() const
    {
        const std::lock_guard lock(mutex_);
        return cwd_;
    }

    void set_cwd(std::string cwd)
    {
        const std::lock_guard lock(mutex_);
        cwd_ = std::move(cwd);
    }

  private:
    mutable std::mutex mutex_;
    std::string cwd_;
};

/// What an operation on files gets beside its request. Such operations run on worker threads, may
/// block, and answer failures by throwing berth::Error. They look at `stop` at least once per
/// directory and per 256 KiB of data, and then throw Error(cancelled).
struct CallContext {
    const protocol::GuestConfig& config;
    SessionState& session;
    std::stop_token stop;
    /// export_files: sends one piece (at most protocol::max_data_size bytes) to the host; blocks
    /// while the host does not read. Throws Error(cancelled) when the connection is gone.
    std::function<void(std::string_view)> send_data;
    /// import_files: the next piece, empty at the end.
    std::function<std::string()> receive_data;
    /// Null: the home is not limited.
    HomeQuota* quota = nullptr;
    /// Null: the call protects no file.
    ProtectedWrites* protected_writes = nullptr;
    /// Null: nobody waits for this call.
    ReplacedFiles* replaced = nullptr;
};

} // namespace berth::guest
