#pragma once

#include "sandbox/guest/search/file_counter.hpp"
#include "sandbox/guest/search/first_files.hpp"
#include "sandbox/guest/search/matcher.hpp"
#include "sandbox/guest/search/newest_files.hpp"
#include "sandbox/guest/search/search_limits.hpp"
#include "sandbox/guest/search/walker.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace berth::guest::search {

/// The first pass of a grep: every file of the walk is counted, the first ones with matches by
/// path are remembered. Lines are made in a second pass, of these files only, so that memory
/// depends on neither the number nor the size of the matches.
class GrepSearch final : public WalkVisitor {
  public:
    struct Totals {
        std::atomic<std::uint64_t> matched = 0; ///< files
        std::atomic<std::uint64_t> units = 0;
        std::atomic<std::uint64_t> searched = 0;
        std::atomic<std::uint64_t> binary = 0;
        std::atomic<std::uint64_t> large = 0;
        std::atomic<std::uint64_t> slow = 0;
        Unreadable unreadable; ///< files
    };

    /// `wanted`: units (files, when `by_file`) that may be listed. `by_file` also leaves out files
    /// that turn out to be binary after a match: as in ripgrep, a count of a part of a file would
    /// mislead, while its lines are what they are. `newest_first`: files are remembered by the time
    /// of their last change instead of by path, as newest(), found() stays empty.
    GrepSearch(const Matcher& matcher, const CountOptions& options, bool by_file,
               std::uint64_t wanted, unsigned threads, SearchLimits& limits,
               bool newest_first = false);

    void visit(unsigned thread, const WalkedFile& file) override;

    [[nodiscard]] bool enters(std::string_view /*path*/) const noexcept override { return true; }

    [[nodiscard]] bool wants(std::string_view /*path*/) const noexcept override { return true; }

    /// `fd` is the caller's.
    void search(unsigned thread, int fd, std::string_view path);

    [[nodiscard]] const Totals& totals() const noexcept { return totals_; }

    [[nodiscard]] const FirstFiles& found() const noexcept { return found_; }

    /// Null unless they were asked for.
    [[nodiscard]] NewestFiles* newest() noexcept { return newest_.get(); }

  private:
    const Matcher& matcher_;
    CountOptions options_;
    bool by_file_;
    FirstFiles found_;
    std::unique_ptr<NewestFiles> newest_;
    Totals totals_;
    std::vector<std::unique_ptr<BlockReader>> readers_; ///< one for each thread
};

} // namespace berth::guest::search
