#include "tools/render.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <limits>
#include <string>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

TEST_CASE("limits are told as they are set")
{
    CHECK(limit_bytes(2ULL << 30U) == "2 GiB");
    CHECK(limit_bytes(256ULL << 20U) == "256 MiB");
    CHECK(limit_bytes(1'500'000) == "1.5 MB");
}

TEST_CASE("numbers are written for people")
{
    CHECK(thousands(0) == "0");
    CHECK(thousands(999) == "999");
    CHECK(thousands(1000) == "1,000");
    CHECK(thousands(1'234'567) == "1,234,567");
    CHECK(counted(1, "match") == "1 match");
    CHECK(counted(2, "match") == "2 matches");
    CHECK(counted(0, "line") == "0 lines");
    CHECK(counted(2, "process") == "2 processes");
    CHECK(counted(1234, "entry") == "1,234 entries");
    CHECK(human_bytes(1) == "1 byte");
    CHECK(human_bytes(999) == "999 bytes");
    CHECK(human_bytes(1000) == "1.0 KB");
    CHECK(human_bytes(56'700) == "56.7 KB");
    CHECK(human_bytes(999'999) == "1.0 MB");
    CHECK(human_bytes(std::numeric_limits<std::uint64_t>::max()) == "18.4 EB");
    CHECK(human_duration(std::chrono::milliseconds(-5)) == "0 ms");
    CHECK(human_duration(std::chrono::milliseconds(340)) == "340 ms");
    CHECK(human_duration(std::chrono::milliseconds(1234)) == "1.2 s");
    CHECK(human_duration(std::chrono::milliseconds(725'000)) == "12 min 5 s");
    CHECK(rough_duration(std::chrono::milliseconds(1'400)) == "1 s");
    CHECK(rough_duration(std::chrono::milliseconds(90'000)) == "90 s");
    CHECK(rough_duration(std::chrono::milliseconds(1'799'700)) == "30 min");
    CHECK(rough_duration(std::chrono::milliseconds(7'199'900)) == "2 h");
    CHECK(signal_name(SIGSEGV) == "SIGSEGV");
    CHECK(signal_name(40) == "signal 40");
}

TEST_CASE("hexdump is hexdump -C")
{
    CHECK(hexdump("") == "");
    CHECK(hexdump(std::string("\x7f"
                              "ELF\0\1\2\3"
                              "01234567+",
                              17)) ==
          "00000000  7f 45 4c 46 00 01 02 03  30 31 32 33 34 35 36 37  |.ELF....01234567|\n"
          "00000010  2b                                                |+|\n");
}

TEST_CASE("a status line exists only when it says something")
{
    CHECK(status_line({}) == "");
    CHECK(status_line({"", ""}) == "");
    CHECK(status_line({"exit 3", "", "1.2 s"}) == "[exit 3 · 1.2 s]");
}
