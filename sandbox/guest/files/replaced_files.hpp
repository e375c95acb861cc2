#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <fcntl.h>

namespace berth::guest {

/// The files that a call has put others in the place of, held until it has been answered. Whoever
/// lets go of a file without a name last has to free it, and waits for the disk then: for what of
/// it is being written, and with the mount option `discard` for the disk to forget its blocks. On a
/// disk on which another session writes all it can that takes hundreds of milliseconds. Of one
/// thread.
class ReplacedFiles {
  public:
    /// Many, or more bytes together, are let go of at once: who is short of room wants it before
    /// the next call, and descriptors are the guest's.
    static constexpr std::size_t most = 64;
    static constexpr std::uint64_t largest = 1024UL * 1024;

    /// `file` stays the caller's.
    void hold(int file, std::uint64_t size) noexcept
    {
        if (size > largest - bytes_ || held_.size() >= most) {
            return;
        }
        UniqueFd own(::fcntl(file, F_DUPFD_CLOEXEC, 0));
        try {
            if (own) {
                held_.push_back(std::move(own));
                bytes_ += size;
            }
        } catch (const std::exception&) {
            return; // no memory: it is closed with the caller's, as where no descriptor is free
        }
    }

    [[nodiscard]] std::size_t count() const noexcept { return held_.size(); }

  private:
    std::vector<UniqueFd> held_;
    std::uint64_t bytes_ = 0; ///< of these; at most `largest`
};

} // namespace berth::guest
