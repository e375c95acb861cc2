#pragma once

#include <cstdint>
#include <stop_token>

#include <sys/types.h>

namespace berth::guest {

/// Of a file's content, among the calls of this guest: shared by those that read it, exclusive for
/// one that writes it in place, so that no call sees what is half written. Commands of the session
/// do not know it. A thread holds no more than one at a time: who waits for a second could wait for
/// a writer that waits for the first.
class ContentLock {
  public:
    enum class Kind : std::uint8_t { shared, exclusive };

    ContentLock() noexcept = default;
    /// Waits; holds nothing when `stop` is requested meanwhile, or when `fd` is no open file. Who
    /// reads looks at the size after this, not before.
    ContentLock(int fd, Kind kind, const std::stop_token& stop);
    ContentLock(ContentLock&& other) noexcept;
    ContentLock& operator=(ContentLock&& other) noexcept;
    ~ContentLock();

    [[nodiscard]] bool owns() const noexcept { return owns_; }

  private:
    void release() noexcept;

    dev_t device_ = 0;
    ino_t inode_ = 0;
    Kind kind_ = Kind::shared;
    bool owns_ = false;
};

} // namespace berth::guest
