#include "sandbox/base/sanitizer.hpp"
#include "sandbox/local/launcher/fresh_stack.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include <sys/wait.h>
#include <unistd.h>

using namespace berth::local;

namespace {

constexpr int handed_over = 7;

struct Seen {
    std::uintptr_t top;
    std::uintptr_t depth; ///< of who began it
};

/// Ends as a test would be judged: what comes after it is gone.
void end_below_top(void* argument)
{
    const auto* const seen = static_cast<const Seen*>(argument);
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    ::_exit(here < seen->top && here > seen->depth ? handed_over : 1);
}

[[noreturn, gnu::noinline]] void go_deep(Seen& seen)
{
    std::array<volatile char, 65536> frames{};
    seen.depth = reinterpret_cast<std::uintptr_t>(&frames);
    run_on_fresh_stack(end_below_top, &seen);
}

} // namespace

TEST_CASE("work on a fresh stack begins where main did, whoever begins it")
{
    if (berth::has_sanitizer) {
        return; // which knows of one stack only
    }
    static Seen seen{};
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        auto* const frame = static_cast<char*>(__builtin_frame_address(0));
        seen.top = reinterpret_cast<std::uintptr_t>(frame);
        note_stack_top(frame);
        go_deep(seen);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == handed_over);
}
