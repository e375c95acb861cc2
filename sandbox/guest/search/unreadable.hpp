#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace berth::guest::search {

/// What a search could not open or read: how many, and the first few in the order of their paths,
/// whichever thread came to them first. Thread-safe.
class Unreadable {
  public:
    static constexpr std::size_t max_named = 5;

    /// `path`: absolute; a directory's ends with a slash.
    void add(std::string path)
    {
        const std::lock_guard lock(mutex_);
        ++count_;
        keep(paths_, std::move(path));
    }

    /// When all threads are through.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// When all threads are through: `paths` (in order) gets these too, as far as they come first.
    void name_in(std::vector<std::string>& paths) const
    {
        for (const std::string& path : paths_) {
            keep(paths, path);
        }
    }

  private:
    static void keep(std::vector<std::string>& paths, std::string path)
    {
        paths.insert(std::upper_bound(paths.begin(), paths.end(), path), std::move(path));
        if (paths.size() > max_named) {
            paths.pop_back();
        }
    }

    std::mutex mutex_;
    std::uint64_t count_ = 0; ///< guarded by mutex_, as is paths_
    std::vector<std::string> paths_;
};

} // namespace berth::guest::search
