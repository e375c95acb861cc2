#include "sandbox/base/spelling.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::nearest;
using berth::slips_between;

TEST_CASE("the nearest word is one or two slips away, or there is none")
{
    CHECK(nearest("comand", {"command", "timeout"}) == "command");
    CHECK(nearest("tiemout", {"command", "timeout"}) == "timeout");
    CHECK(nearest("ignorecase", {"ignore_case", "include"}) == "ignore_case");
    CHECK(nearest("zzzzzz", {"command", "timeout"}) == "");
    CHECK(nearest("", {"a"}) == "");
    CHECK(nearest("READ_FILE", {"write_file", "read_file"}) == "read_file");
    CHECK(nearest("kill", {"TERM", "KILL"}) == "KILL");
    CHECK(nearest(std::string(1'000'000, 'a'), {"a"}) == "");
}

TEST_CASE("two letters in each other's place are one slip, and another case is none")
{
    CHECK(slips_between("", "") == 0);
    CHECK(slips_between("", "abc") == 3);
    CHECK(slips_between("abc", "") == 3);
    CHECK(slips_between("raed", "read") == 1);
    CHECK(slips_between("SIGTREM", "sigterm") == 1);
    CHECK(slips_between("Read_File", "read_file") == 0);
    CHECK(slips_between("@", "`") == 1); // only letters have a case
    CHECK(slips_between("badc", "abcd") == 2);
    CHECK(slips_between("ca", "abc") == 3); // no byte slips twice
    CHECK(slips_between("kitten", "sitting") == 3);
    CHECK(nearest("sned_file", {"seed_file", "send_file"}) == "seed_file"); // of equals the first
    CHECK(nearest("raed_flie", {"road_file", "read_file"}) == "read_file");
}
