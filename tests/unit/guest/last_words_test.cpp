#include "sandbox/guest/last_words.hpp"
#include "sandbox/protocol/parting.hpp"
#include "sandbox/protocol/wire.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace berth;
using guest::last_words;
using protocol::JobEntry;

namespace {

JobEntry job(std::uint64_t order, bool unseen, const std::string& command = "true")
{
    JobEntry entry;
    entry.command = command;
    entry.unseen = unseen;
    entry.order = order;
    return entry;
}

} // namespace

TEST_SUITE("guest/last_words")
{
    TEST_CASE("of commands that somebody was told of nothing is said")
    {
        CHECK(last_words({}, {}, 0).empty());
        CHECK(last_words({job(1, false)}, {job(2, false)}, 0).empty());
    }

    TEST_CASE("what nobody was told of is, and nothing else")
    {
        const auto reply = protocol::decode<protocol::InfoReply>(
            last_words({job(1, true, "one"), job(2, false)}, {job(3, false), job(4, true)}, 5));
        REQUIRE(reply.jobs.size() == 1);
        CHECK(reply.jobs.front().command == "one");
        REQUIRE(reply.ended.size() == 1);
        CHECK(reply.ended.front().order == 4);
        CHECK(reply.forgotten_unseen == 5);
        CHECK(protocol::decode<protocol::InfoReply>(last_words({}, {}, 2)).forgotten_unseen == 2);
    }

    TEST_CASE("what a server was lent to tell is, which it may never come to")
    {
        auto lent = job(1, false, "one");
        lent.lent = true;
        const auto reply =
            protocol::decode<protocol::InfoReply>(last_words({}, {lent, job(2, false)}, 0));
        REQUIRE(reply.ended.size() == 1);
        CHECK(reply.ended.front().command == "one");
    }

    TEST_CASE("what somebody waits for is, whether it runs or has ended")
    {
        auto running = job(1, false, "one");
        running.expected = true;
        auto over = job(2, false, "two");
        over.expected = true;
        const auto reply =
            protocol::decode<protocol::InfoReply>(last_words({running}, {over, job(3, false)}, 0));
        REQUIRE(reply.jobs.size() == 1);
        CHECK(reply.jobs.front().command == "one");
        REQUIRE(reply.ended.size() == 1);
        CHECK(reply.ended.front().command == "two");
    }

    TEST_CASE("of many the latest are named and the others counted, within the limit")
    {
        std::vector<JobEntry> jobs;
        std::vector<JobEntry> ended;
        for (std::uint64_t order = 1; order <= 200; ++order) {
            (order % 2 == 0 ? jobs : ended).push_back(job(order, true, std::string(9000, 'x')));
        }
        const auto words = last_words(jobs, ended, 1);
        CHECK(words.size() <= protocol::longest_last_words);
        const auto reply = protocol::decode<protocol::InfoReply>(words);
        CHECK(reply.jobs.size() + reply.ended.size() == 16);
        CHECK(reply.jobs.back().order == 200);
        CHECK(reply.ended.front().order == 185);
        CHECK(reply.forgotten_unseen == 185);
    }
}
