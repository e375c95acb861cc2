#include "sandbox/guest/search/ignore_rules.hpp"

#include <doctest/doctest.h>

using berth::guest::search::IgnoreRules;
using berth::guest::search::Verdict;

namespace {

struct Case {
    const char* rules;
    const char* path;
    bool is_directory;
    Verdict verdict;
};

constexpr Case cases[] = {
    {"*.o\n", "a.o", false, Verdict::ignored},
    {"*.o\n", "d/a.o", false, Verdict::ignored},
    {"*.o\n!keep.o\n", "d/keep.o", false, Verdict::kept},
    {"!keep.o\n*.o\n", "keep.o", false, Verdict::ignored},
    {"/a\n", "a", false, Verdict::ignored},
    {"/a\n", "d/a", false, Verdict::none},
    {"d/a\n", "x/d/a", false, Verdict::none},
    {"d/a\n", "d/a", false, Verdict::ignored},
    {"build/\n", "build", true, Verdict::ignored},
    {"build/\n", "build", false, Verdict::none},
    {"build/\n", "x/build", true, Verdict::ignored},
    {"x/build/\n", "y/x/build", true, Verdict::none},
    {"a/**\n", "a/b", false, Verdict::ignored},
    {"a/**\n", "a", true, Verdict::none},
    {"**/a\n", "x/y/a", false, Verdict::ignored},
    {"a/**/b\n", "a/b", false, Verdict::ignored},
    {"# a\n\\#a\n", "#a", false, Verdict::ignored},
    {"# a\n", "# a", false, Verdict::none},
    {"\\!a\n", "!a", false, Verdict::ignored},
    {"a   \n", "a", false, Verdict::ignored},
    {"a\\ \n", "a ", false, Verdict::ignored},
    {"a\r\n", "a", false, Verdict::ignored},
    {"\xEF\xBB\xBF"
     "a\n",
     "a", false, Verdict::ignored},
    {"a", "a", false, Verdict::ignored},
    {"\n\n/\n", "a", true, Verdict::none},
    {"[a\nb\n", "b", false, Verdict::ignored},
    {"[a\n", "[a", false, Verdict::none},
    {"{a,b}\n", "a", false, Verdict::none},
    {"{a,b}\n", "{a,b}", false, Verdict::ignored},
    {"*\n!*/\n", "d", true, Verdict::kept},
    {"*\n!*/\n", "d", false, Verdict::ignored},
};

} // namespace

TEST_CASE("rules of ignore files")
{
    for (const Case& one : cases) {
        CAPTURE(one.rules);
        CAPTURE(one.path);
        IgnoreRules rules;
        rules.add_file(one.rules);
        CHECK(rules.match(one.path, one.is_directory) == one.verdict);
    }
}
