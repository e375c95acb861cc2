#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/guest/exec/spill.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// What a stream wrote, on disk: one file with its first bytes, or, once it is rotated, a chain of
/// files with its last ones. Nothing in them is believed: a command may have deleted or cut them.
class StreamLog {
  public:
    /// `store` must outlive this. `name`: "stdout" or "stderr".
    StreamLog(SpillStore& store, std::string name);

    /// Makes the first file, of what the stream has written from its first byte on.
    void start();

    [[nodiscard]] bool started() const noexcept { return !segments_.empty(); }

    /// From now on the oldest file goes where the limit of a stream is reached. The one that there
    /// is already stays beside them: a result has named it.
    void rotate() noexcept;

    /// Each byte once and in order; `offset` of the first one, in the stream. Without effect before
    /// start().
    void write(std::uint64_t offset, std::string_view data);

    /// At most `size` bytes from `offset` on, which moves to the first one after it that is still
    /// there. Empty: none below `end` is.
    [[nodiscard]] std::string read(std::uint64_t& offset, std::uint64_t end,
                                   std::size_t size) const;

    /// The newest file, once started.
    [[nodiscard]] SpillFile& file() const { return *segments_.back().file; }

    /// Of its first byte, in the stream.
    [[nodiscard]] std::uint64_t file_begin() const { return segments_.back().begin; }

    void close() noexcept;

  private:
    struct Segment {
        std::uint64_t begin = 0;
        std::unique_ptr<SpillFile> file;
    };

    void write_segment(std::uint64_t offset, std::string_view data);
    void make_segment(std::uint64_t offset);
    void drop_oldest();
    void drop(std::size_t segment);

    SpillStore& store_;
    std::string name_;
    std::vector<Segment> segments_; ///< oldest first
    bool rotates_ = false;
    std::size_t named_ = 0;       ///< segments from before rotate(): one or none
    BootClock::time_point tried_; ///< to make another file for one that failed
};

} // namespace berth::guest
