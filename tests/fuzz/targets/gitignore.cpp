// An ignore file and paths: FILE ==== a path on each line, with a slash at the end of a directory.

#include "sandbox/base/error.hpp"
#include "sandbox/guest/search/ignore_rules.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using berth::fuzz::require;
using berth::guest::search::IgnoreRules;
using berth::guest::search::Verdict;

void match(const IgnoreRules& rules, std::string_view path)
{
    const bool directory = path.ends_with('/');
    if (directory) {
        path.remove_suffix(1);
    }
    const auto verdict = rules.match(path, directory);
    require(verdict != Verdict::ignored || rules.has_positive(), "a rule ignored it");
    require(verdict == Verdict::none || !rules.empty(), "a rule said so");
    require(directory || verdict == Verdict::none || rules.match(path, true) != Verdict::none,
            "a rule for files is one for directories");
}

} // namespace

BERTH_FUZZ_TARGET(gitignore)
{
    namespace search = berth::guest::search;
    const auto [file, paths] = berth::fuzz::parts_of<2>(input);
    search::RuleBudget budget;
    search::RuleLease lease(budget);
    IgnoreRules rules;
    (void)rules.add_file(file, &lease);
    IgnoreRules with_braces;
    berth::fuzz::each_line(file, [&](std::string_view line) {
        try {
            with_braces.add(line, true);
        } catch (const berth::Error& error) {
            require(error.code() == berth::ErrorCode::invalid_argument, "the pattern is wrong");
        }
    });
    berth::fuzz::each_line(paths, [&](std::string_view path) {
        match(rules, path);
        match(with_braces, path);
    });
}
