#pragma once

#include "sandbox/guest/call_context.hpp"

#include <string>

namespace berth::guest {

/// Exclusive among the calls of this guest that name the same key. Commands of the session do not
/// know it.
class FileLock {
  public:
    FileLock() noexcept = default;
    /// Waits. Throws Error(cancelled) when the call is stopped meanwhile.
    FileLock(std::string key, const CallContext& context);
    FileLock(FileLock&& other) noexcept;
    FileLock& operator=(FileLock&& other) noexcept;
    ~FileLock();

    [[nodiscard]] bool owns() const noexcept { return !key_.empty(); }

  private:
    std::string key_; ///< empty: nothing is held
};

} // namespace berth::guest
