#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace berth::server {

/// Whether a file that people write, or programs of theirs, has changed since it was taken. Not
/// thread-safe.
class FileWatch {
  public:
    enum class State : unsigned char {
        same,    ///< or it has only just changed, and may not be whole yet
        changed, ///< taken from here on, whatever comes of it
        gone,    ///< the same
    };

    /// The file may have changed since it was read, so the first look finds it changed.
    FileWatch() = default;

    [[nodiscard]] State look(const std::string& path);

    /// Whether the last look saw just what was taken: "same" may also mean that somebody is
    /// writing.
    [[nodiscard]] bool is_as_taken() const noexcept { return seen_ == taken_; }

  private:
    /// Which file it is, and of which state; equal: unchanged.
    struct Stamp {
        std::string path;
        dev_t device = 0;
        ino_t inode = 0;
        off_t size = -1;          ///< -1: there is none
        std::int64_t changed = 0; ///< ns since the epoch

        friend bool operator==(const Stamp&, const Stamp&) = default;
    };

    [[nodiscard]] static Stamp stamp(const std::string& path);

    Stamp taken_;
    Stamp seen_; ///< at the last look
};

} // namespace berth::server
