#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/seccomp_program.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth::guest::test;

namespace {

/// Until the process ends, as berth's own filter does where namespaces have to be forbidden.
bool refuse_clone3()
{
    const std::array program{
        sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_clone3},
        sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
        sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    return berth::tests::install_seccomp_program(program);
}

bool runs_a_command(Mode mode)
{
    Guest guest(mode);
    const auto outcome = guest.run("echo out; exit 3");
    return !outcome.error && outcome.reply.out.head == "out\n" && outcome.reply.exit_code == 3;
}

} // namespace

TEST_CASE("where clone3 is refused commands run all the same")
{
    for (const Mode mode : modes()) {
        CAPTURE(name_of(mode));
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::_exit(refuse_clone3() && runs_a_command(mode) ? 0 : 1);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        CHECK(status == 0);
    }
}
