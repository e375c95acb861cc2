#pragma once

#include "sandbox/base/glob_pattern.hpp"
#include "sandbox/guest/search/rule_budget.hpp"
#include "sandbox/guest/search/search_limits.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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
    static constexpr std::size_t max_file_rules = 10'000;

    /// Lines that are no valid pattern match nothing, as in git. False when rules were left out:
    /// more than max_file_rules, or more than `lease` (null: no matter how many) grants.
    bool add_file(std::string_view content, RuleLease* lease = nullptr);

    /// One pattern. `braces`: `{a,b}` are alternatives, as on ripgrep's command line. `unit`: byte
    /// for git's rules. Throws Error(invalid_argument).
    void add(std::string_view line, bool braces, GlobUnit unit = GlobUnit::character);

    /// `limits` (may be null) are asked on the way: thousands of rules for each of thousands of
    /// names would hold up a stop. Once they say so, the verdict is `ignored`.
    [[nodiscard]] Verdict match(std::string_view path, bool is_directory,
                                SearchLimits* limits = nullptr) const noexcept;

    [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

    /// Whether a rule without '!' is among them.
    [[nodiscard]] bool has_positive() const noexcept { return has_positive_; }

  private:
    /// Most rules are plain names: these are compared without a compiled pattern, a tenth of
    /// whose size they take.
    struct Rule {
        std::unique_ptr<const GlobPattern> pattern; ///< null: a name, in names_
        std::uint32_t name = 0;
        std::uint16_t name_size = 0;
        std::int16_t last_byte = -1;
        bool negated = false;
        bool directories_only = false;
    };

    [[nodiscard]] bool matches(const Rule& rule, std::string_view path) const noexcept;

    std::vector<Rule> rules_;
    std::string names_;
    bool has_positive_ = false;
};

} // namespace berth::guest::search
