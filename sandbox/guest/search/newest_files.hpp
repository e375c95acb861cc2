#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest::search {

/// The newest of all files that come by, a bounded number of them. Thread-safe.
class NewestFiles {
  public:
    /// `limit`: 0 is as many as memory allows (8 MiB of names).
    explicit NewestFiles(std::uint64_t limit);

    /// `mtime`: nanoseconds.
    void add(std::string_view path, std::int64_t mtime);

    /// When all threads are through: newest first, then by name.
    [[nodiscard]] std::vector<std::string> take();

    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

  private:
    struct File {
        std::int64_t mtime;
        std::string path;

        /// Whether it comes before another in the answer.
        [[nodiscard]] bool operator<(const File& other) const noexcept
        {
            return mtime != other.mtime ? mtime > other.mtime : path < other.path;
        }
    };

    std::mutex mutex_;
    std::vector<File> heap_; ///< the last of the answer on top; guarded by mutex_, as all below
    std::uint64_t limit_;
    std::uint64_t total_ = 0;
    std::size_t bytes_ = 0;
};

} // namespace berth::guest::search
