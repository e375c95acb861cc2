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

    /// `root`: absolute path of the walk's root, what include globs are relative to. Throws
    /// Error(invalid_argument) for a bad glob or type.
    Selection(std::string_view root, const std::vector<std::string>& include, std::string_view type,
              bool hidden);

    /// `path`: absolute, below the root. `level`: null when ignore files do not count.
    [[nodiscard]] Choice choose(const IgnoreLevel* level, std::string_view path,
                                bool is_directory) const noexcept;

  private:
    std::size_t base_;
    IgnoreRules include_;
    std::vector<GlobPattern> type_;
    bool hidden_;
};

} // namespace berth::guest::search
