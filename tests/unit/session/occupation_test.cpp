#include "sandbox/session/occupation.hpp"

#include <doctest/doctest.h>

using berth::protocol::InfoReply;
using berth::session::occupation;

TEST_SUITE("session/occupation")
{
    TEST_CASE("who uses a machine is told in one wording, with the first few jobs")
    {
        InfoReply info;
        CHECK(occupation(info) == "its guest does not say by what");
        info.calls = 1;
        CHECK(occupation(info) == "1 command in flight");
        info.calls = 2;
        info.pause.emplace().clients = 1;
        CHECK(occupation(info) == "2 commands in flight, 1 connection of a server");
        info.pause->clients = 2;
        info.jobs.resize(1);
        info.jobs[0].job_id = "a\n";
        info.jobs[0].remaining = 90'000;
        CHECK(occupation(info) == "2 commands in flight, 1 job (a\\x0a for 91 s more at most), "
                                  "2 connections of one server or more");
        info.calls = 0;
        info.pause.reset();
        info.jobs[0].job_id = "a";
        for (const char* const id : {"b", "c", "d", "e"}) {
            info.jobs.emplace_back().job_id = id;
        }
        CHECK(occupation(info) == "5 jobs (a for 91 s more at most, b, c and 2 more)");
    }
}
