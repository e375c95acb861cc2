// A shim is a clone of the guest that never execs: what it keeps of the guest's memory.

#include "sandbox/base/sanitizer.hpp"
#include "sandbox/guest/exec/inherited_memory.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace berth::guest;
using namespace berth::guest::test;

namespace {

/// Prints how much of its own memory the shim has, in KiB, once that is little or after 2 s: the
/// shell may be faster than its shim. (Of its own: the test program's data, which is not little.)
constexpr const char* look_at_shim =
    "for i in $(seq 100); do"
    "  kept=$(sed -n 's/^RssAnon:[^0-9]*\\([0-9]*\\) kB$/\\1/p' /proc/$PPID/status);"
    "  [ \"$kept\" -lt 10000 ] && break; sleep 0.02;"
    "done; echo $kept";

} // namespace

TEST_CASE("the shim of a command keeps nothing of what the guest held when it was started")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string others(20'000'000, 'r'); // requests in progress
        auto request = Guest::request(look_at_shim);
        request.input = std::string(20'000'000, 'i');
        const auto reply = guest.run(request).reply;
        REQUIRE(reply.exit_code == 0);
        const auto kept = std::stoul(reply.out.head);
        CHECK(kept > 0);
        CHECK((berth::has_sanitizer || kept < 10'000));
        CHECK(others.find_first_not_of('r') == std::string::npos);
    });
}

namespace {

volatile int data = 1; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
thread_local volatile int own_data =
    1; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// What a forked child finds after it dropped the memory: 0, or what is wrong.
int drop_in_child(const std::string& text)
{
    const volatile char* const content = text.data();
    volatile int local = 2;
    const pid_t child = ::fork();
    if (child == 0) {
        data = 3;
        own_data = 4;
        drop_inherited_memory();
        const bool is_whole = data == 3 && own_data == 4 && local == 2;
        const bool is_dropped = content[500'000] == '\0' || berth::has_sanitizer;
        ::_exit(!is_whole ? 1 : is_dropped ? 0 : 2);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

} // namespace

TEST_CASE("what is left to a process that drops the memory it has inherited")
{
    const std::string text(1'000'000, 'x');
    CHECK(drop_in_child(text) == 0);
    // Of a thread stack and storage are in memory that would be dropped.
    int status = -1;
    std::thread([&] { status = drop_in_child(text); }).join();
    CHECK(status == 0);
    CHECK(text.find_first_not_of('x') == std::string::npos);
}
