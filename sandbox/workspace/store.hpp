#pragma once

#include "sandbox/base/deadline.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace berth::workspace {

struct Entry {
    std::string path; ///< normalised: begins with '/', no "." or "..", no empty component
    std::uint64_t size = 0;
    std::string sha256;
    std::string modified; ///< RFC 3339, UTC
    std::uint32_t mode = 0644;
};

/// Writes one file; visible only after commit(), whole. Destroyed without commit(): nothing stays.
class Writer {
  public:
    Writer() = default;
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    virtual ~Writer() = default;

    virtual void write(std::string_view bytes) = 0;

    /// No more bytes will come: descriptors may be let go, so that a thousand files can wait for
    /// their common commit. Optional; at most once, before commit().
    virtual void seal() {}

    /// As Store::commit() of this one.
    [[nodiscard]] virtual Entry commit() = 0;
};

/// Reads one file in order; empty at the end. Throws Error(backend_error) when the content does not
/// have its checksum.
class Reader {
  public:
    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    virtual ~Reader() = default;

    [[nodiscard]] virtual const Entry& entry() const noexcept = 0;
    [[nodiscard]] virtual std::string read(std::size_t most) = 0;
};

/// Files that outlive every sandbox, each principal's own. Thread-safe, and safe between processes.
/// Paths are taken as users write them and normalised (a leading slash is the workspace's root);
/// Error(invalid_path) for "..", NUL or an empty name, Error(not_found).
class Store {
  public:
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;

    /// `overwrite` false: Error(conflict) if the path exists, also when it appears before commit().
    [[nodiscard]] virtual std::unique_ptr<Writer> create(const std::string& principal,
                                                         const std::string& path,
                                                         std::uint32_t mode, bool overwrite) = 0;

    /// Makes the files of these writers, which are one principal's and this store's, visible
    /// together: a reader, also one in another process, sees all of them or none, and after a crash
    /// at any moment it is all or none, too. Throws Error(conflict), Error(cancelled) when `stop`
    /// was requested before the last moment, and others; then none was changed.
    [[nodiscard]] virtual std::vector<Entry>
    commit(const std::vector<std::unique_ptr<Writer>>& writers, const std::stop_token& stop) = 0;

    [[nodiscard]] virtual std::unique_ptr<Reader> open(const std::string& principal,
                                                       const std::string& path) = 0;
    /// The files whose path is `prefix` or lies below it, by path; at most `limit` of those behind
    /// the path `after`, while `total` counts all.
    [[nodiscard]] virtual std::vector<Entry> list(const std::string& principal,
                                                  const std::string& prefix, std::size_t limit,
                                                  std::size_t& total,
                                                  const std::string& after = {}) = 0;
    virtual void remove(const std::string& principal, const std::string& path) = 0;
};

/// "a//b/./c" -> "/a/b/c". Throws Error(invalid_path).
[[nodiscard]] std::string normalise(std::string_view path);

/// A directory below `root` for each principal. `root` is made 0700 when missing.
[[nodiscard]] std::unique_ptr<Store> make_directory_store(const std::string& root);

/// What a sweep removed.
struct Swept {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    std::vector<std::string> failed; ///< why something stayed, but for what is in use
    bool complete = true;            ///< there was time to look at every principal
};

/// Removes from such a directory, of every principal, what saves left whose process died before
/// their end, and undoes what they had made visible of it; Store::create() does so for its own
/// principal. A save that lives is never touched, whatever the clocks say, and nobody is waited
/// for. Makes nothing where there is nothing. Begins with no other principal after the deadline, or
/// when asked to stop. Throws Error where `root` is not to be had.
[[nodiscard]] Swept sweep_workspace(const std::string& root, const Deadline& deadline,
                                    const std::stop_token& stop = {});

} // namespace berth::workspace
