#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest::search {

enum class EntryType : unsigned char { file, directory, symlink, other };

/// The entries of a directory by getdents64(2), a bounded number at a time so that a directory of
/// millions does not fill the guest's memory. For one thread; used for one directory at a time.
class DirectoryLister {
  public:
    struct Entry {
        std::size_t name; ///< offset in the arena
        EntryType type;
    };

    DirectoryLister();

    /// Reads on from where `fd` is. False when there was nothing more, or it cannot be read.
    [[nodiscard]] bool read_some(int fd);

    /// Whether the last read_some() reached the end of the directory.
    [[nodiscard]] bool complete() const noexcept { return complete_; }

    [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

    [[nodiscard]] const char* name(const Entry& entry) const noexcept
    {
        return names_.data() + entry.name;
    }

  private:
    void parse(int fd, std::size_t size);

    std::vector<char> buffer_;
    std::string names_; ///< each with its NUL
    std::vector<Entry> entries_;
    bool complete_ = false;
};

} // namespace berth::guest::search
