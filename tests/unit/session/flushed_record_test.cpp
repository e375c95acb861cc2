// What is on the disk when a record is written.

#include "sandbox/base/error.hpp"
#include "sandbox/session/registry.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/seccomp_program.hpp"
#include "tests/unit/session/registry_fixtures.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>

#include <linux/seccomp.h>
#include <sys/syscall.h>

using namespace berth;
using namespace std::chrono_literals;
using tests::error_of;
using tests::full_record;
using tests::key_of;

namespace {

/// In a thread of its own, where nothing can be flushed: whether that is what put() fails for.
bool needs_flush(session::Registry& registry, const session::Record& record)
{
    const auto lock = registry.lock(key_of("work"), Deadline::after(20s));
    std::optional<ErrorCode> failed;
    bool installed = false;
    std::thread([&] {
        const std::array program{
            sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
            sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_fsync},
            sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EIO},
            sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
        installed = tests::install_seccomp_program(program);
        failed = error_of([&] { registry.put(key_of("work"), record); });
    }).join();
    REQUIRE(installed);
    return failed.has_value();
}

} // namespace

TEST_SUITE("session/flushed_record")
{
    TEST_CASE("one is flushed where what it tells of outlives the host's power")
    {
        const tests::TemporaryDirectory directory;
        auto record = full_record();
        SUBCASE("a machine of this host does not, and nobody waits for the disk")
        {
            const auto registry = session::make_file_registry(directory / "state");
            CHECK_FALSE(needs_flush(*registry, record));
            record.state = session::State::ended;
            CHECK(needs_flush(*registry, record));
        }
        SUBCASE("one on no host does")
        {
            const auto registry = session::make_file_registry(directory / "state", false);
            for (const auto state : {session::State::creating, session::State::running}) {
                record.state = state;
                CHECK(needs_flush(*registry, record));
            }
        }
    }
}
