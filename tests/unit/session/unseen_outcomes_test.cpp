#include "sandbox/session/unseen_outcomes.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::protocol::InfoReply;
using berth::protocol::JobEntry;
using berth::session::unseen_notices;

namespace {

JobEntry entry(const std::string& id, const std::string& command, bool running = false)
{
    JobEntry job;
    job.job_id = id;
    job.command = command;
    job.status = running ? "running" : "ended";
    job.unseen = true;
    return job;
}

} // namespace

TEST_CASE("outcomes that nobody has seen are told with their end and how to read them")
{
    InfoReply info;
    info.ended.push_back(entry("job-1-aaaa", "make test"));
    info.ended.back().exit_code = 2;
    info.ended.push_back(entry("job-2-aaaa", "sleep 9"));
    info.ended.back().exit_code = -1;
    info.jobs.push_back(entry("job-3-aaaa", "serve", true));
    info.jobs.push_back(entry("job-4-aaaa", "known", true));
    info.jobs.back().unseen = false;
    const auto notices = unseen_notices(info);
    REQUIRE(notices.size() == 3);
    CHECK(notices[0] ==
          "the result of `make test` reached nobody, since its server or its client "
          "went away: it ended with exit 2, and bash_output of job-1-aaaa has what it "
          "printed");
    CHECK(notices[1].find("it was stopped, and bash_output of job-2-aaaa") != std::string::npos);
    CHECK(notices[2].find("it goes on as job-3-aaaa, which bash_output") != std::string::npos);
}

TEST_CASE("of many the newest few are told, and of a command the beginning of its first line")
{
    InfoReply info;
    for (int i = 1; i <= 5; ++i) {
        info.ended.push_back(entry("job-" + std::to_string(i),
                                   "echo \x1b[2J" + std::to_string(i) + "\nsecond line"));
    }
    const auto notices = unseen_notices(info);
    REQUIRE(notices.size() == 4);
    CHECK(notices[0].find("`echo \\x1b[2J3…`") != std::string::npos);
    CHECK(notices[0].find("how it ended is not known") != std::string::npos);
    CHECK(notices[0].find("second line") == std::string::npos);
    CHECK(notices[2].find("job-5") != std::string::npos);
    CHECK(notices[3].find("those of 2 earlier commands") != std::string::npos);
}

TEST_CASE("nothing is told of what is known")
{
    CHECK(unseen_notices({}).empty());
}
