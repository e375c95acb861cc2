// What a guest keeps while nobody calls it.

#include "sandbox/base/random.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;
using namespace berth::local::test;

namespace {

/// A descriptor of the guest, and what it has open there, held by this process too.
struct Held {
    int number;
    UniqueFd file;
};

/// Of files that count how often the commands' limits were met.
std::vector<Held> counts_of(const UniqueFd& guest, pid_t pid)
{
    constexpr std::array names{"/memory.oom_control", "/memory.events", "/pids.events",
                               "/cpu.stat"};
    std::vector<Held> held;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
        std::error_code ignored;
        const auto target = std::filesystem::read_symlink(entry.path(), ignored).string();
        if (std::ranges::any_of(names, [&](const char* name) { return target.ends_with(name); })) {
            const int number = std::stoi(entry.path().filename());
            held.push_back({number, UniqueFd(static_cast<int>(
                                        ::syscall(SYS_pidfd_getfd, guest.get(), number, 0)))});
        }
    }
    return held;
}

bool is_the_same(const Held& held, pid_t pid)
{
    return ::syscall(SYS_kcmp, ::getpid(), pid, KCMP_FILE, held.file.get(), held.number) == 0;
}

} // namespace

// The kernel keeps a page of each file of a cgroup that was read, until it is closed; and Landlock
// keeps the guest from opening what is below no root.
TEST_CASE("a guest at rest has opened anew what it has read of its cgroups")
{
    if (!is_root()) {
        return; // who may not look into the guest
    }
    Bench bench;
    const auto backend = backend_with_guest(bench);
    const auto spec = Bench::spec();
    auto machine = backend->create(spec);
    const auto record = machine->record();
    const auto facts = facts_from(record);
    const auto held = counts_of(open_guest(facts), facts.pid);
    CHECK(held.empty() == facts.cgroups.empty());
    if (std::ranges::any_of(held,
                            [&](const Held& each) { return !is_the_same(each, facts.pid); })) {
        CHECK(errno == ENOSYS); // a kernel without kcmp(2): Debian's as a program
        backend->destroy(record, true);
        return;
    }
    sandbox::Sandbox sandbox(std::move(machine), spec.token);
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = "true";
    request.timeout = 100'000;
    CHECK(sandbox.execute(request, {}).exit_code == 0);
    for (const auto& each : held) {
        CHECK(tests::becomes_true([&] { return !is_the_same(each, facts.pid); }));
    }
    CHECK(sandbox.execute(request, {}).exit_code == 0);
    backend->destroy(record, true);
}
