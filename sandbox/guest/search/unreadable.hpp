#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace berth::guest::search {

/// What a search could not open or read: how many, and the first few by name. Thread-safe.
class Unreadable {
  public:
    static constexpr std::size_t max_named = 5;

    /// `path`: absolute; a directory's ends with a slash.
    void add(std::string path)
    {
        const std::lock_guard lock(mutex_);
        ++count_;
        if (paths_.size() < max_named) {
            paths_.push_back(std::move(path));
        }
    }

    /// When all threads are through.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// When all threads are through: `paths` gets more of them, while there is room.
    void name_in(std::vector<std::string>& paths) const
    {
        for (const std::string& path : paths_) {
            if (paths.size() < max_named) {
                paths.push_back(path);
            }
        }
    }

  private:
    std::mutex mutex_;
    std::uint64_t count_ = 0; ///< guarded by mutex_, as is paths_
    std::vector<std::string> paths_;
};

} // namespace berth::guest::search
