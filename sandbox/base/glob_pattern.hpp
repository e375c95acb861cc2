#pragma once

#include "sandbox/base/glob_segment.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace berth {

/// A glob over relative paths ("a/b.c", no leading or trailing slash). `*` and `?` stop at '/';
/// `**` as a whole component stands for any number of components, at the end for at least one;
/// `{a,b}` for either, nested and across slashes. Hidden names need no dot in the pattern.
/// A pattern without a slash is a name at any depth. Matching takes time proportional to pattern
/// and path, whatever the pattern. Immutable, so any thread may match.
class GlobPattern {
  public:
    struct Options {
        bool braces = true;    ///< and "a/./b" is "a/b"; git's ignore files have neither
        bool anchored = false; ///< also without a slash: relative to the root
        GlobUnit unit = GlobUnit::character;
    };

    /// Throws Error(invalid_argument) that says what is wrong and where.
    [[nodiscard]] static GlobPattern compile(std::string_view pattern, Options options);

    [[nodiscard]] static GlobPattern compile(std::string_view pattern)
    {
        return compile(pattern, Options());
    }

    [[nodiscard]] bool matches(std::string_view path) const noexcept;

    /// Whether something below `directory` (relative, not empty) could match: false prunes a walk.
    [[nodiscard]] bool may_match_below(std::string_view directory) const noexcept;

    /// The byte every match ends with, -1 when there is no such byte.
    [[nodiscard]] int last_byte() const noexcept { return last_byte_; }

  private:
    /// Absent: `**`.
    using Component = std::optional<GlobSegment>;

    struct Alternative {
        bool base_name = false; ///< only the last component of a path counts
        std::vector<Component> components;
    };

    void add_alternative(std::string_view text, Options options);

    std::vector<Alternative> alternatives_;
    int last_byte_ = -1;
};

/// `pattern` with its braces written out, at most 256 of them. Throws Error(invalid_argument).
[[nodiscard]] std::vector<std::string> expand_braces(std::string_view pattern);

} // namespace berth
