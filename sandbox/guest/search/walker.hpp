#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/search/ignore_stack.hpp"
#include "sandbox/guest/search/search_limits.hpp"
#include "sandbox/guest/search/selection.hpp"
#include "sandbox/guest/search/unreadable.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::guest::search {

/// A file that a walk came by. Everything is borrowed for the call.
struct WalkedFile {
    int dirfd;             ///< of its directory
    const char* name;      ///< in it
    std::string_view path; ///< absolute
    bool is_symlink;       ///< only when WalkOptions::symlinks
};

/// Called by all threads of a walk at once; `thread` is 0 ... thread_count - 1.
class WalkVisitor {
  public:
    WalkVisitor() = default;
    WalkVisitor(const WalkVisitor&) = delete;
    WalkVisitor& operator=(const WalkVisitor&) = delete;
    virtual ~WalkVisitor() = default;

    virtual void visit(unsigned thread, const WalkedFile& file) = 0;

    /// Whether to go into a directory; `path` is absolute.
    [[nodiscard]] virtual bool enters(std::string_view path) const noexcept = 0;

    /// Whether a file would be of any use; `path` is absolute. Asked of those that are left out.
    [[nodiscard]] virtual bool wants(std::string_view path) const noexcept = 0;
};

struct WalkOptions {
    bool use_ignore_files = true;
    bool git = false;      ///< what is called .git is visited, too
    bool symlinks = false; ///< visit symlinks too; those to directories are never followed
    unsigned threads = 1;
};

struct WalkTotals {
    std::atomic<std::uint64_t> ignored = 0; ///< files and directories
    std::atomic<bool> git_left_out = false; ///< a .git that was of use to the visitor
    std::uint64_t capped_ignore_files = 0;  ///< ignore files of which rules were left out
    Unreadable unreadable;                  ///< directories
};

/// Min(4, processors this process may use).
[[nodiscard]] unsigned search_threads() noexcept;

/// Visits the regular files below `root` (a directory, at the absolute path `path`), in no order,
/// on `options.threads` threads of which one is the caller's. `.git` is only entered where
/// `options` say so, /proc never from above it (its files are neither data nor finite), the guest's
/// own /proc directory not at all. Symlinks are not followed, FIFOs and devices not touched. Ends
/// early when `limits` say so. The first exception of a visitor ends the walk and is thrown to the
/// caller.
void walk(UniqueFd root, const std::string& path, const Selection& selection,
          const WalkOptions& options, SearchLimits& limits, WalkVisitor& visitor,
          WalkTotals& totals);

} // namespace berth::guest::search
