#include "tools/sandbox_program.hpp"

#include <doctest/doctest.h>

namespace berth::tools::test {

TEST_CASE("a program that reads a file has 20 seconds, and no more than a command may have")
{
    Settings settings;
    CHECK(script_seconds(settings) == 20);
    settings.exec_max_timeout = std::chrono::seconds(3);
    CHECK(script_seconds(settings) == 3);
}

} // namespace berth::tools::test
