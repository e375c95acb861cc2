#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace berth::guest {

class SpillStore;

/// The file that takes the whole of one stream. A failure is remembered, never thrown: a full disk
/// must not end a command.
class SpillFile {
  public:
    ~SpillFile();
    SpillFile(const SpillFile&) = delete;
    SpillFile& operator=(const SpillFile&) = delete;

    void write(std::string_view data);

    /// No more will come: the file may now make room for newer ones.
    void close() noexcept;

    /// Looks whether the file is still what was written: a command may have deleted, replaced or
    /// cut it, or written to it. Then path(), bytes() and error() say so, and nothing more gets
    /// there. Without effect once it is closed.
    void check() noexcept;

    /// At most `size` bytes from `offset` on, also after close(): none where a command changed the
    /// file's size, now or earlier, since its bytes then have other numbers, or where the limit of
    /// the session took it away.
    [[nodiscard]] std::string read(std::uint64_t offset, std::size_t size) const;

    /// What is written now gets there.
    [[nodiscard]] bool is_open() const noexcept { return fd_.valid(); }

    /// Empty when the file could not be made, or is gone.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    /// Why it is missing or not whole; empty while all is well.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }

  private:
    friend class SpillStore;

    struct Entry {
        std::string name;
        std::uint64_t bytes = 0;
        bool open = true;
    };

    explicit SpillFile(SpillStore& store) noexcept : store_(store) {}

    void fail(std::string error) noexcept;
    void release() noexcept;
    [[nodiscard]] UniqueFd reopen() const;

    SpillStore& store_;
    UniqueFd fd_;
    std::list<Entry>::iterator entry_;
    bool listed_ = false;
    dev_t device_ = 0; ///< what the file is known by
    ino_t inode_ = 0;
    std::string path_;
    std::string error_;
    std::uint64_t bytes_ = 0;
    bool changed_ = false; ///< check() has seen that it is not what was written
};

/// The spill files of a session, in a directory that its commands can write to as well: nothing in
/// it is believed. Begins with none: a machine gets a new /var/tmp, and a guest that ends takes its
/// machine with it, so there are no files of an earlier guest that would have to be counted.
/// Outlives its files. Not synchronised.
class SpillStore {
  public:
    /// Limits in bytes; 0: none.
    SpillStore(std::string directory, std::uint64_t stream_limit, std::uint64_t session_limit);

    /// A new file `<n>.<stream>`. Never fails: see SpillFile::error().
    [[nodiscard]] std::unique_ptr<SpillFile> create(std::string_view stream);

    /// Deletes a file that is closed, if nobody did yet.
    void remove(const SpillFile& file);

    [[nodiscard]] std::uint64_t stream_limit() const noexcept { return stream_limit_; }

  private:
    friend class SpillFile;

    [[nodiscard]] UniqueFd open_directory() const;
    /// How many of `wanted` bytes the session's limit allows, after the oldest closed files went.
    [[nodiscard]] std::uint64_t make_room(std::uint64_t wanted);

    std::string directory_;
    std::uint64_t stream_limit_;
    std::uint64_t session_limit_;
    std::uint64_t total_ = 0;
    std::uint64_t next_ = 1;
    std::list<SpillFile::Entry> entries_; ///< oldest first
};

} // namespace berth::guest
