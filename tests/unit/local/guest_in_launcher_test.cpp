// The launcher that becomes the guest itself. What the guest does is shown by the parity suite.

#include "sandbox/base/error.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/local/remove_tree.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;
using namespace berth::local::test;

namespace {

std::string link_target(const std::string& path)
{
    std::array<char, 256> target{};
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    return size < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(size));
}

struct Mapping {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::string access;
    std::string name; ///< empty: of no file
};

[[maybe_unused]] std::vector<Mapping> maps_of(const std::string& pid)
{
    std::vector<Mapping> maps;
    std::istringstream lines(read_text("/proc/" + pid + "/maps"));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        Mapping found{};
        std::string skip;
        char dash = 0;
        words >> std::hex >> found.begin >> dash >> found.end >> found.access >> skip >> skip >>
            skip >> found.name;
        maps.push_back(found);
    }
    return maps;
}

} // namespace

TEST_CASE("the guest is the launcher's own, looks like one, and its program cannot be written")
{
    const int* number = nullptr;
    if (::prctl(PR_GET_TID_ADDRESS, &number) != 0) {
        return; // a kernel on which the guest is started by exec: tests/uml.sh
    }
    Bench bench;
    const auto backend = backend_with_guest(bench);
    for (const char* round : {"the first launcher", "one that waited"}) {
        CAPTURE(round);
        const auto spec = Bench::spec(round);
        const auto machine = backend->create(spec);
        const auto facts = facts_from(machine->record());
        CHECK(machine->connect(Deadline::after(std::chrono::seconds(30))) != nullptr);
        const std::string process = "/proc/" + std::to_string(facts.pid);
        CHECK(read_text(process + "/comm") == "berth-guest\n");
        const auto command_line = read_text(process + "/cmdline");
        CHECK(command_line.substr(0, command_line.find('\0')) == "berth-guest");
        CHECK(command_line.find("launcher") == std::string::npos);
        if (is_root()) { // the guest is not dumpable
            CHECK(link_target(process + "/exe").starts_with("/memfd:berth-launcher"));
            const UniqueFd program(::open((process + "/exe").c_str(), O_RDONLY | O_CLOEXEC));
            REQUIRE(program.valid());
            CHECK(::fcntl(program.get(), F_GET_SEALS) ==
                  (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL));
            CHECK(::open((process + "/exe").c_str(), O_WRONLY | O_CLOEXEC) < 0);
        }
        backend->destroy(machine->record(), true);
        CHECK_FALSE(open_guest(facts).valid());
    }
}

#ifdef __x86_64__
TEST_CASE("a guest's stack and heap lie behind its program, and before its stack is nothing")
{
    unsigned size = 0;
    const bool can_be_moved = ::prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0) == 0;
    if (!is_root() || !can_be_moved || ::prctl(PR_GET_TID_ADDRESS, &size) != 0) {
        return; // an ordinary user cannot look at the guest
    }
    Bench bench;
    const auto backend = backend_with_guest(bench);
    const auto machine = backend->create(Bench::spec());
    const auto pid = std::to_string(facts_from(machine->record()).pid);
    const auto maps = maps_of(pid);
    const auto at = [&](const std::string& name) {
        return std::find_if(maps.begin(), maps.end(),
                            [&](const Mapping& each) { return each.name.starts_with(name); });
    };
    const auto program = at("/memfd:berth-launcher");
    const auto stack = at("[stack]");
    const auto heap = at("[heap]");
    REQUIRE(program != maps.end());
    REQUIRE(stack != maps.end());
    REQUIRE(heap != maps.end());
    constexpr std::uintptr_t near = 16UL << 20U;
    CHECK(stack->begin - program->begin < near);
    CHECK(heap->begin - program->begin < near);
    REQUIRE(stack != maps.begin());
    const auto& guard = *std::prev(stack);
    CHECK(guard.end == stack->begin);
    CHECK(guard.access.starts_with("---"));
    CHECK(std::count_if(maps.begin(), maps.end(),
                        [](const Mapping& each) { return each.name == "[stack]"; }) == 1);
    backend->destroy(machine->record(), true);
}
#endif

TEST_CASE("a sandbox has all the processors that the server has, however early it is made")
{
    Bench bench;
    cpu_set_t own;
    REQUIRE(::sched_getaffinity(0, sizeof own, &own) == 0);
    for (int round = 0; round < 8; ++round) {
        const auto backend = backend_with_guest(bench); // each without a launcher that waits
        const auto spec = Bench::spec(std::to_string(round));
        const auto machine = backend->create(spec);
        cpu_set_t inside;
        REQUIRE(::sched_getaffinity(facts_from(machine->record()).pid, sizeof inside, &inside) ==
                0);
        CHECK(CPU_EQUAL(&inside, &own));
        backend->destroy(machine->record(), true);
    }
}

TEST_CASE("the state directory may be anywhere, /tmp too")
{
    std::string state = "/tmp/berth-test-XXXXXX";
    REQUIRE(::mkdtemp(state.data()) != nullptr);
    {
        const auto backend = make_backend({.guest_program = program("BERTH_TEST_REAL_GUEST"),
                                           .launcher_program = program("BERTH_TEST_LAUNCHER"),
                                           .guest_in_launcher = true,
                                           .state_directory = state});
        const auto machine = backend->create(Bench::spec());
        CHECK(machine->connect(Deadline::after(std::chrono::seconds(30))) != nullptr);
        backend->destroy(machine->record(), true);
    }
    remove_tree(AT_FDCWD, state);
}

TEST_CASE("a creation that fails early takes neither the home nor the lock of the uids with it")
{
    if (!is_root()) {
        return;
    }
    Bench bench;
    const auto backend = backend_with_guest(bench);
    const auto spec = Bench::spec();
    backend->destroy(backend->create(spec)->record(), false);
    const std::string folder = bench.state() + "/sessions/" + spec.key_hash;
    write_text(folder + "/home/kept", "x");
    // Its uid cannot be written: a folder is in the place of the record.
    REQUIRE(::unlink((folder + "/uid").c_str()) == 0);
    REQUIRE(::mkdir((folder + "/uid").c_str(), 0700) == 0);
    CHECK_THROWS((void)backend->create(spec));
    CHECK(read_text(folder + "/home/kept") == "x");
    const auto other = Bench::spec("other");
    backend->destroy(backend->create(other)->record(), true);
    REQUIRE(::rmdir((folder + "/uid").c_str()) == 0);
}

TEST_CASE("a launch whose folders cannot be made is undone")
{
    if (!is_root()) {
        return;
    }
    Bench bench;
    const auto backend = backend_with_guest(bench);
    const auto spec = Bench::spec();
    const auto record = backend->create(spec)->record();
    const auto facts = facts_from(record);
    backend->destroy(record, false);
    // A home that is another's is refused, while the launcher is at work already.
    const std::string folder = bench.state() + "/sessions/" + spec.key_hash;
    REQUIRE(::chown((folder + "/home").c_str(), 12345, 12345) == 0);
    CHECK_THROWS_AS((void)backend->create(spec), Error);
    for (const auto& cgroup : facts.cgroups) {
        CAPTURE(cgroup);
        CHECK_FALSE(exists(cgroup));
    }
    CHECK_FALSE(exists(facts.socket_path));
    CHECK_FALSE(exists(folder + "/tmp"));
    CHECK(exists(folder + "/home"));
    REQUIRE(::chown((folder + "/home").c_str(), 0, 0) == 0);
    const auto machine = backend->create(spec);
    CHECK(machine != nullptr);
    backend->destroy(machine->record(), true);
}
