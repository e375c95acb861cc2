#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace berth::guest::search {

/// Order of paths as a sorted walk meets them: component by component.
struct PathOrder {
    using is_transparent = void;
    [[nodiscard]] bool operator()(std::string_view a, std::string_view b) const noexcept;
};

/// Of all files with matches, however many there are and in whatever order they come, the first
/// ones by path that together have the wanted number of units. Thread-safe.
class FirstFiles {
  public:
    struct File {
        std::uint64_t units = 0; ///< what counts for the selection
        std::uint64_t count = 0; ///< what is told about the file
    };

    using Files = std::map<std::string, File, PathOrder>;

    explicit FirstFiles(std::uint64_t wanted_units) : wanted_(wanted_units) {}

    void add(std::string_view path, File file);

    /// When all threads are through.
    [[nodiscard]] const Files& files() const noexcept { return files_; }

    /// Something was left out.
    [[nodiscard]] bool dropped() const noexcept { return dropped_; }

  private:
    std::mutex mutex_;
    Files files_; ///< guarded by mutex_, as all below
    std::uint64_t wanted_;
    std::uint64_t units_ = 0;
    std::size_t bytes_ = 0;
    bool dropped_ = false;
};

} // namespace berth::guest::search
