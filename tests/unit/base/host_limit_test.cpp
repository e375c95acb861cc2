#include "sandbox/base/host_limit.hpp"

#include <doctest/doctest.h>

#include <cerrno>

#include <sys/resource.h>

using berth::host_limit;

TEST_CASE("each limit of the host has a remedy of its own; what is no limit has none")
{
    CHECK(host_limit(EMFILE)->remedy.find("ulimit -n") != std::string::npos);
    CHECK(host_limit(EAGAIN)->remedy.find("ulimit -u") != std::string::npos);
    CHECK_FALSE(host_limit(ENOENT).has_value());
    CHECK_FALSE(host_limit(0).has_value());
}

TEST_CASE("a file that is too large is one of a limit only while there is a limit")
{
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit now = before;
    now.rlim_cur = 1L << 30; // no file of the tests is as large
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &now) == 0);
    const auto limited = host_limit(EFBIG);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    REQUIRE(limited.has_value());
    CHECK(limited->remedy.find("ulimit -f unlimited") != std::string::npos);
    CHECK(host_limit(EFBIG).has_value() == (before.rlim_cur != RLIM_INFINITY));
}
