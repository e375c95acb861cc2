// A shim is a clone of the guest that never execs: what it keeps of the guest's memory.

#include "sandbox/guest/exec/inherited_memory.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace berth::guest;
using namespace berth::guest::test;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool has_sanitizer = true;
#elif defined(__has_feature)
constexpr bool has_sanitizer = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool has_sanitizer = false;
#endif

/// Prints how much of its own memory the shim has, in KiB, once that is little or after 2 s: the
/// shell may be faster than its shim.
constexpr const char* look_at_shim =
    "for i in $(seq 100); do"
    "  kept=$(sed -n 's/^RssAnon:[^0-9]*\\([0-9]*\\) kB$/\\1/p' /proc/$PPID/status);"
    "  [ \"$kept\" -lt 1000 ] && break; sleep 0.02;"
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
        CHECK((has_sanitizer || kept < 1000));
        CHECK(others.find_first_not_of('r') == std::string::npos);
    });
}

TEST_CASE("what is left to a process that drops the memory it has inherited")
{
    static int data = 1;
    static const char* content = nullptr;
    const std::string text(1'000'000, 'x');
    content = text.data();
    const int local = 2;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        data = 3;
        drop_inherited_memory();
        errno = EDOM;
        const bool is_whole = data == 3 && local == 2 && errno == EDOM;
        const bool is_dropped = content[500'000] == '\0' || has_sanitizer;
        ::_exit(is_whole && is_dropped ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(text.find_first_not_of('x') == std::string::npos);
}
