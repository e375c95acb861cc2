#pragma once

#include <utility>

#include <unistd.h>

namespace berth {

/// Owns one file descriptor and closes it. Move-only; -1 is "none". Not synchronised.
class UniqueFd {
  public:
    UniqueFd() noexcept = default;

    /// Adopts `fd`: nobody else may close it from here on.
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}

    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}

    UniqueFd& operator=(UniqueFd&& other) noexcept
    {
        if (this != &other) {
            reset(other.release());
        }
        return *this;
    }

    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;

    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }

    [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }

    explicit operator bool() const noexcept { return valid(); }

    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

    void reset(int fd = -1) noexcept
    {
        const int old = std::exchange(fd_, fd);
        if (old >= 0) {
            // A close that was interrupted has closed all the same on Linux: never retried.
            ::close(old);
        }
    }

  private:
    int fd_ = -1;
};

} // namespace berth
