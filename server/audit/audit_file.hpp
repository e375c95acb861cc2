#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

namespace berth::server {

/// A file that several servers append whole lines to, made with mode 0600. One that was moved away
/// or removed (logrotate) is made anew with the next line; one that was cut (copytruncate) is gone
/// on with, also in the middle of a line: the next one begins on its own. Thread-safe.
class AuditFile {
  public:
    /// Throws Error(invalid_argument): it cannot be opened, is no ordinary file, is somebody
    /// else's, or others may write to it.
    explicit AuditFile(std::string path);

    /// `line`: without its end. All of it is there, or nothing: where it throws
    /// (std::system_error, Error), as for a full disk. Who holds the file's lock holds up one line
    /// in a while, and no more than a moment.
    void append(std::string_view line);

  private:
    void follow();
    [[nodiscard]] bool take_lock();

    const std::string path_;
    std::mutex mutex_; ///< guards what follows
    UniqueFd file_;
    std::chrono::steady_clock::time_point impatient_until_{};
};

} // namespace berth::server
