#pragma once

#include "sandbox/guest/search/ignore_stack.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest::search {

/// Which entries of a walk are looked at, decided in ripgrep's order: `include` globs, ignore
/// rules, file type, hidden names; the first that has an opinion wins. Immutable.
class Selection {
  public:
    enum class Choice : std::uint8_t { take, leave, leave_ignored };

    /// `root`: absolute path of the walk's root, what include globs are relative to. An include
    /// may also be written "./a/*.c", or absolute as far as it leads through `root`. Throws
    /// Error(invalid_argument) for a bad glob or type.
    Selection(std::string_view root, const std::vector<std::string>& include, std::string_view type,
              bool hidden);

    /// `path`: absolute, below the root. `level`: null when ignore files do not count. `limits` as
    /// in IgnoreRules::match().
    [[nodiscard]] Choice choose(const IgnoreLevel* level, std::string_view path, bool is_directory,
                                SearchLimits* limits) const noexcept;

  private:
    void add_include(std::string_view root, std::string_view glob);

    std::size_t base_;
    IgnoreRules include_;
    std::vector<GlobPattern> type_;
    bool hidden_;
};

} // namespace berth::guest::search
