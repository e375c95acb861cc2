#include "sandbox/base/process.hpp"
#include "tests/unit/descriptor_limit.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <system_error>

#include <sys/wait.h>

using namespace berth;

TEST_CASE("a process that never was cannot be waited for")
{
    Process none;
    CHECK_FALSE(none.wait(Deadline()).has_value());
}

TEST_CASE("a child that cannot be held is ended, not left behind")
{
    SpawnOptions options;
    options.arguments = {"sleep", "1000"};
    {
        const tests::DescriptorLimit limit;
        CHECK_THROWS_AS((void)Process::spawn("/bin/sleep", options), std::system_error);
    }
    errno = 0;
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
}
