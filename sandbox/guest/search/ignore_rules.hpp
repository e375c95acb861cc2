#pragma once

#include "sandbox/guest/search/glob_pattern.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace berth::guest::search {

enum class Verdict : std::uint8_t {
    none,    ///< no rule matches
    ignored, ///< the last rule that matches ignores
    kept,    ///< the last rule that matches has a '!'
};

/// The rules of one ignore file (gitignore(5)), for paths relative to its directory. A directory's
/// verdict says nothing about what is below: a walk does not go into ignored directories.
class IgnoreRules {
  public:
    /// Lines that are no valid pattern match nothing, as in git.
    void add_file(std::string_view content);

    /// One pattern. `braces`: `{a,b}` are alternatives, as on ripgrep's command line. Throws
    /// Error(invalid_argument).
    void add(std::string_view line, bool braces);

    [[nodiscard]] Verdict match(std::string_view path, bool is_directory) const noexcept;

    [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

    /// Whether a rule without '!' is among them.
    [[nodiscard]] bool has_positive() const noexcept { return has_positive_; }

  private:
    struct Rule {
        GlobPattern pattern;
        int last_byte = -1;
        bool negated = false;
        bool directories_only = false;
    };

    std::vector<Rule> rules_;
    bool has_positive_ = false;
};

} // namespace berth::guest::search
