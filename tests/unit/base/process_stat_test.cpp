#include "sandbox/base/process_stat.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::parse_process_stat;

namespace {

const std::string rest = " 7 9 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 4242 1 2 3 4 5\n";

} // namespace

TEST_CASE("a process cannot disguise its line of the table by its name")
{
    for (const std::string name : {"(cat)", "(a b)", "(x) Z 1 1 1)", "(\n)", "())"}) {
        CAPTURE(name);
        const auto stat = parse_process_stat(5, "5 " + name + " S" + rest);
        REQUIRE(stat);
        CHECK(stat->pid == 5);
        CHECK(stat->state == 'S');
        CHECK(stat->parent == 7);
        CHECK(stat->session == 9);
        CHECK(stat->threads == 3);
        CHECK(stat->start_time == 4242);
        CHECK(stat->alive());
    }
}

TEST_CASE("a zombie is dead unless others of its threads live")
{
    CHECK(parse_process_stat(5, "5 (a) Z" + rest)->alive());
    const std::string one = " 7 9 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1\n";
    CHECK_FALSE(parse_process_stat(5, "5 (a) Z" + one)->alive());
}

TEST_CASE("a line that is cut off is none")
{
    CHECK_FALSE(parse_process_stat(5, ""));
    CHECK_FALSE(parse_process_stat(5, "5 (cat"));
    CHECK_FALSE(parse_process_stat(5, "5 (cat)"));
    CHECK_FALSE(parse_process_stat(5, "5 (cat) S 7 9 9 0 -1"));
}
