#include "sandbox/base/host_limit.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sys/resource.h>

using berth::host_limit;

TEST_CASE("each limit of the host has a remedy of its own; what is no limit has none")
{
    CHECK(host_limit(EMFILE)->remedy.find("ulimit -n") != std::string::npos);
    CHECK(host_limit(EAGAIN)->remedy.find("ulimit -u") != std::string::npos);
    CHECK_FALSE(host_limit(ENOENT).has_value());
    CHECK_FALSE(host_limit(0).has_value());
}

namespace {

/// While it lives this process has the limit, and a new thread a stack of that size.
class NarrowMemory {
  public:
    NarrowMemory(int resource, std::size_t limit, std::size_t stack) : resource_(resource)
    {
        ::getrlimit(static_cast<__rlimit_resource_t>(resource), &before_);
        ::pthread_getattr_default_np(&stack_before_);
        rlimit now = before_;
        now.rlim_cur = limit;
        if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) {
            FAIL("no limit");
        }
        pthread_attr_t attributes;
        ::pthread_attr_init(&attributes);
        ::pthread_attr_setstacksize(&attributes, stack);
        ::pthread_setattr_default_np(&attributes);
        ::pthread_attr_destroy(&attributes);
    }

    ~NarrowMemory()
    {
        ::setrlimit(static_cast<__rlimit_resource_t>(resource_), &before_);
        ::pthread_setattr_default_np(&stack_before_);
        ::pthread_attr_destroy(&stack_before_);
    }

    NarrowMemory(const NarrowMemory&) = delete;
    NarrowMemory& operator=(const NarrowMemory&) = delete;

  private:
    int resource_;
    rlimit before_{};
    pthread_attr_t stack_before_{};
};

} // namespace

TEST_CASE("a thread that found no room for its stack is one of the limit that leaves none")
{
    constexpr std::size_t limit = std::size_t{1} << 47U; // more than a process can have
    constexpr std::size_t usual = std::size_t{1} << 20U;
    for (const auto& [resource, remedy] :
         {std::pair(RLIMIT_AS, "ulimit -v"), std::pair(RLIMIT_DATA, "ulimit -d")}) {
        CAPTURE(remedy);
        {
            const NarrowMemory narrow(resource, limit, limit);
            for (const int error : {EAGAIN, ENOMEM}) {
                CHECK(host_limit(error)->remedy.find(remedy) != std::string::npos);
            }
            CHECK(host_limit(std::bad_alloc())->remedy.find(remedy) != std::string::npos);
        }
        const NarrowMemory wide(resource, limit, usual);
        CHECK(host_limit(EAGAIN)->remedy.find("ulimit -u") != std::string::npos);
        CHECK_FALSE(host_limit(ENOMEM).has_value());
    }
    CHECK_FALSE(host_limit(ENOMEM).has_value());
    CHECK_FALSE(host_limit(std::runtime_error("none")).has_value());
    const std::system_error full(EMFILE, std::generic_category());
    CHECK(host_limit(full)->remedy.find("ulimit -n") != std::string::npos);
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
