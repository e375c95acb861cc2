#include "sandbox/guest/exec/written_bytes.hpp"

#include <doctest/doctest.h>

#include <string_view>

using berth::guest::parse_written_bytes;
using berth::guest::written_bytes;

TEST_CASE("of /proc/PID/io the bytes that were written are taken, not those that were cancelled")
{
    constexpr std::string_view text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n"
                                      "write_bytes: 678901234567\ncancelled_write_bytes: 7\n";
    CHECK(parse_written_bytes(text) == 678901234567U);
    CHECK(parse_written_bytes("") == 0);
    CHECK(parse_written_bytes("cancelled_write_bytes: 7\n") == 0);
    CHECK(parse_written_bytes("read_bytes: 5\nwrite_bytes: \n") == 0);
}

TEST_CASE("a process that is not there has written nothing")
{
    CHECK(written_bytes(0) == 0);
}
