#pragma once

#include "sandbox/guest/search/ignore_rules.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace berth::guest::search {

/// Which of the names that matter to ignore rules a directory has.
struct IgnoreFiles {
    bool git = false;       ///< .git: a repository begins here
    bool gitignore = false; ///< counts inside a repository only, as in ripgrep
    bool ignore = false;
    bool rgignore = false;

    void note(std::string_view name) noexcept;
};

/// The rules that hold in a directory: its own and, through `parent`, those of the ones above it.
/// Directories without ignore files share their parent's. Immutable.
class IgnoreLevel {
  public:
    using Pointer = std::shared_ptr<const IgnoreLevel>;

    explicit IgnoreLevel(RuleBudget& budget) : lease_(budget) {}

    /// For the directory open as `dirfd`, whose absolute path is `path`. `budget` outlives it.
    [[nodiscard]] static Pointer enter(Pointer parent, int dirfd, std::string_view path,
                                       const IgnoreFiles& files, RuleBudget& budget);

    /// The rules of the directories above `path` (absolute); null when there are none.
    [[nodiscard]] static Pointer above(const std::string& path, RuleBudget& budget);

    /// ripgrep's order: .rgignore before .ignore before .gitignore before .git/info/exclude,
    /// whatever the level; within a kind the nearest level that has an opinion. `limits` as in
    /// IgnoreRules::match().
    [[nodiscard]] static Verdict judge(const IgnoreLevel* level, std::string_view path,
                                       bool is_directory, SearchLimits* limits) noexcept;

  private:
    void load(IgnoreRules& rules, int dirfd, const char* name);

    RuleLease lease_;
    Pointer parent_;
    std::size_t base_ = 0; ///< where paths relative to this directory begin
    bool is_repository_ = false;
    bool in_repository_ = false;
    IgnoreRules rgignore_;
    IgnoreRules ignore_;
    IgnoreRules gitignore_;
    IgnoreRules exclude_;
};

/// The names in `dirfd` by asking for each of them.
[[nodiscard]] IgnoreFiles probe_ignore_files(int dirfd) noexcept;

} // namespace berth::guest::search
