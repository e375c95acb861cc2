#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace {

/// The exit status that Meson takes for "skipped".
constexpr int skipped = 77;

} // namespace

int main(int argc, char** argv)
{
    using namespace berth::local::test;
    // The same tests as an ordinary user.
    if (!program("BERTH_TEST_AS_USER").empty() && (!is_root() || !become_ordinary_user())) {
        std::puts("needs root to become somebody else");
        return skipped;
    }
    if (::access(program("BERTH_TEST_LAUNCHER").c_str(), X_OK) != 0) {
        std::puts("the launcher is not there, or may not be run by this user");
        return skipped;
    }
    {
        Bench bench;
        const auto availability = bench.backend().availability();
        if (!availability.available) {
            std::printf("no sandbox here: %s\n", availability.reason.c_str());
            return skipped;
        }
    }
    return doctest::Context(argc, argv).run();
}
