#include "sandbox/guest/exec/command_tree.hpp"
#include "tests/unit/descriptor_limit.hpp"

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <optional>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// The stop of a tree whose shim is a plain child of the test.

namespace berth::guest::test {
namespace {

/// A shim with one process below it, as a shell that was just started.
struct Family {
    pid_t shim = -1;
    pid_t below = -1;
};

Family start_family()
{
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    Family family;
    family.shim = ::fork();
    if (family.shim == 0) {
        const pid_t below = ::fork();
        if (below == 0) {
            for (;;) {
                ::pause();
            }
        }
        (void)!::write(ends[1], &below, sizeof(below));
        for (;;) {
            ::pause();
        }
    }
    REQUIRE(::read(ends[0], &family.below, sizeof(family.below)) == sizeof(family.below));
    ::close(ends[0]);
    ::close(ends[1]);
    return family;
}

void wait_until_dead(pid_t child)
{
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
}

/// Where there is nothing to adopt.
TreeStopper::Look living_of(const CommandTree& tree)
{
    return [&tree](bool* unread) { return tree.living(unread); };
}

bool stops(TreeStopper& stopper)
{
    for (int pass = 0; pass < 500; ++pass) {
        if (stopper.pass()) {
            return true;
        }
        ::usleep(2000);
    }
    return false;
}

/// Of which only the shim lives.
void end(const Family& family)
{
    ::kill(family.shim, SIGKILL);
    CHECK(::waitpid(family.shim, nullptr, 0) == family.shim);
    CHECK(::waitpid(family.below, nullptr, 0) == family.below);
}

} // namespace

TEST_CASE("a stop is not done while the dead shim has not been reaped: its children moved")
{
    EventLoop loop;
    const Family family = start_family();
    CommandTree tree(family.shim, std::nullopt);
    tree.set_started(0);
    ::kill(family.shim, SIGKILL);
    wait_until_dead(family.shim);
    const auto look = [&](bool* unread) {
        if (tree.shim_killed()) {
            tree.adopt({family.below});
        }
        return tree.living(unread);
    };
    TreeStopper stopper(loop, tree, look, nullptr);
    for (int pass = 0; pass < 3; ++pass) {
        CHECK(!stopper.pass());
        ::usleep(400'000); // longer than a shim is waited for that has nothing below it
    }
    CHECK(read_process(family.below)->alive());

    REQUIRE(::waitpid(family.shim, nullptr, 0) == family.shim);
    tree.shim_reaped(false);
    CHECK(stops(stopper));
    const auto left = read_process(family.below);
    CHECK((!left || !left->alive()));
    CHECK(::waitpid(family.below, nullptr, 0) == family.below);
}

TEST_CASE("a shim that lives and has nothing below it: two looks and a moment are proof")
{
    EventLoop loop;
    const Family family = start_family();
    ::kill(family.below, SIGKILL);
    CommandTree tree(family.shim, std::nullopt);
    tree.set_started(0);
    TreeStopper stopper(loop, tree, living_of(tree), nullptr);
    CHECK(stops(stopper));
    end(family);
}

TEST_CASE("what cannot be read is not taken for gone")
{
    EventLoop loop;
    const Family family = start_family();
    CommandTree tree(family.shim, std::nullopt);
    tree.set_started(0);
    TreeStopper stopper(loop, tree, living_of(tree), nullptr);
    {
        const tests::DescriptorLimit limit;
        bool unread = false;
        CHECK(all_processes(&unread).empty());
        CHECK(unread);
        for (int pass = 0; pass < 4; ++pass) {
            CHECK_FALSE(stopper.pass());
            ::usleep(30'000);
        }
    }
    bool unread = false;
    CHECK_FALSE(read_process(2'000'000'000, &unread));
    CHECK_FALSE(unread);
    CHECK(stops(stopper));
    end(family);
}

} // namespace berth::guest::test
