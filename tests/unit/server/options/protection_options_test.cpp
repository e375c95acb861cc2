#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using berth::server::tests::Bench;
using berth::server::tests::has;

TEST_CASE("protected files: a list by default, another one, refused, or none")
{
    Bench bench;
    const auto usual = bench.make().tools.protection;
    CHECK(std::ranges::count(usual.paths, "CLAUDE.md") == 1);
    CHECK(std::ranges::count(usual.paths, "~/.bashrc") == 1);
    CHECK(std::ranges::count(usual.paths, ".git/hooks/") == 1);
    CHECK_FALSE(usual.refuse);
    bench.file("[protected]\npaths = [\"a/b\", \"~/c/\"]\naction = \"refuse\"\n");
    const auto own = bench.make().tools.protection;
    CHECK(own.paths == std::vector<std::string>{"a/b", "~/c/"});
    CHECK(own.refuse);
    bench.file("[protected]\naction = \"off\"\n");
    CHECK(bench.make().tools.protection.paths.empty());
    bench.file("[protected]\npaths = []\n");
    CHECK(bench.make().tools.protection.paths.empty());
}

TEST_CASE("protected files: what would protect nothing is refused, and named")
{
    Bench bench;
    for (const char* wrong :
         {"/etc/x", "*.md", "~", "~/", "a//b", "../x", "./x", "a/..", "/", "~x"}) {
        CAPTURE(wrong);
        bench.file("[protected]\npaths = [\"ok\", \"" + std::string(wrong) + "\"]\n");
        CHECK(has(bench.refusal(), "protected.paths"));
        CHECK(has(bench.refusal(), (std::string(wrong) + " is no path").c_str()));
    }
}
