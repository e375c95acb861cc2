// The system call filter, tried with the calls themselves: a tool that is missing refuses too.

#include "tests/unit/local/machine_fixture.hpp"
#include "tests/unit/seccomp_program.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <linux/audit.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

namespace {

/// `call(name, number, arguments...)` prints what came of a system call.
constexpr const char* python_call = R"(
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *arguments):
    sys.stdout.flush()
    done = libc.syscall(ctypes.c_long(number), *(
        ctypes.create_string_buffer(a, len(a)) if isinstance(a, bytes) else ctypes.c_ulong(a)
        for a in arguments))
    print(name, "done" if done >= 0 else errno.errorcode[ctypes.get_errno()], flush=True)
    return done
)";

/// What a command of the session does to the process `pid`, each of which would work on its own.
std::string attacks()
{
    std::ostringstream script;
    script << "NUMBERS = dict(affinity=" << SYS_sched_setaffinity
           << ", scheduler=" << SYS_sched_setscheduler << ", param=" << SYS_sched_setparam
           << ", attr=" << SYS_sched_setattr << ", priority=" << SYS_setpriority
           << ", ioprio=" << SYS_ioprio_set << ", prlimit=" << SYS_prlimit64 << ")\n"
           << R"(
def attack(pid, high=0):
    n = NUMBERS
    zero = struct.pack("i", 0)
    call("affinity", n["affinity"], pid | high, 8, struct.pack("Q", 1))
    call("scheduler", n["scheduler"], pid | high, 0, zero)
    call("param", n["param"], pid | high, zero)
    call("attr", n["attr"], pid | high, struct.pack("IIQiIQQQ", 48, 0, 0, 0, 0, 0, 0, 0), 0)
    call("nice", n["priority"], high, pid | high, 19)
    call("nice of the group", n["priority"], 1 | high, pid | high, 19)
    call("ioprio", n["ioprio"], 1 | high, pid | high, 3 << 13)
    call("ioprio of the group", n["ioprio"], 2 | high, pid | high, 3 << 13)
)";
    return script.str();
}

/// The script's output, by a Python of the machine.
std::string python(Bench& bench, const std::string& script)
{
    return bench.run("cat >/tmp/script.py <<'END'\n" + std::string(python_call) + script +
                     "\nEND\npython3 /tmp/script.py 2>&1");
}

/// Lines that do not end with this word; something, too, when there are not so many.
std::string others_than(const std::string& word, std::size_t count, const std::string& output)
{
    std::istringstream lines(output);
    std::string found;
    std::size_t seen = 0;
    for (std::string line; std::getline(lines, line); ++seen) {
        found += line.ends_with(" " + word) ? "" : line + "\n";
    }
    return seen == count ? found : found + std::to_string(seen) + " lines:\n" + output;
}

constexpr std::size_t attack_count = 8;

} // namespace

TEST_CASE("no call changes the guest's scheduling or limits, whatever is in its upper bits")
{
    Bench bench;
    bench.make();
    const auto script = attacks();
    // The very calls work on a process of the session.
    CHECK(others_than("done", attack_count,
                      python(bench, script + "os.setpgid(0, 0)\nattack(os.getpid())")) == "");
    for (const char* high : {"0", "1 << 32", "1 << 63", "0xffffffff << 32"}) {
        CAPTURE(std::string(high));
        CHECK(others_than("EPERM", attack_count,
                          python(bench, script + "attack(1, " + high + ")")) == "");
    }
    const auto everybody = [](const std::string& high) {
        return "n = NUMBERS\nhigh = " + high + R"(
call("nice", n["priority"], 2 | high, 1000 | high, 19)
call("nice of my own", n["priority"], 2 | high, high, 19)
call("ioprio", n["ioprio"], 3 | high, 1000 | high, 3 << 13)
call("limits", n["prlimit"], 1 | high, 7, struct.pack("QQ", 64, 64), 0)
)";
    };
    for (const char* high : {"0", "1 << 32", "1 << 63"}) {
        CAPTURE(std::string(high));
        CHECK(others_than("EPERM", 4, python(bench, script + everybody(high))) == "");
    }
    CHECK(python(bench, script + "call('limits', NUMBERS['prlimit'], 0, 7, "
                                 "struct.pack('QQ', 64, 64), 0)") == "limits done\n");
}

#ifdef __x86_64__

namespace {

/// Calls by `int 0x80`: eax, ebx, ecx, edx. Prints the result of getpid.
constexpr const char* int80 = R"(
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("53 89f8 89f3 87d1 cd80 5b c3"))
enter = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)(
    ctypes.addressof(ctypes.c_char.from_buffer(code)))
print(enter(20, 0, 0, 0), flush=True)
)";

/// The output of a script that a Python of the host runs.
std::string on_the_host(const Bench& bench, const std::string& script)
{
    const std::string file = bench.directory() + "/script.py";
    write_text(file, script);
    FILE* pipe = ::popen(("python3 " + file + " 2>&1").c_str(), "re");
    REQUIRE(pipe != nullptr);
    char line[256] = "";
    CHECK(std::fgets(line, sizeof line, pipe) == line);
    ::pclose(pipe);
    return line;
}

} // namespace

TEST_CASE("a call of another architecture's table ends its process")
{
    Bench bench;
    bench.make();
    const std::string killed = std::to_string(128 + SIGSYS) + "\n";
    const auto status = [&](const std::string& script) {
        python(bench, script);
        return bench.run("{ python3 /tmp/script.py; } >/dev/null 2>&1; echo $?");
    };
    // Where the kernel has them: without, the program ends before it prints anything. That of User
    // Mode Linux takes it for a call of its one table, where the number is writev's.
    const auto outside = on_the_host(bench, int80);
    if (const int result = std::atoi(outside.c_str()); result > 0) {
        CHECK(status(int80) == killed);
    } else if (result != -EBADF) {
        MESSAGE("this kernel has no int 0x80: ", outside);
        CHECK(status(int80) != "0\n");
    }
    constexpr long x32 = 0x40000000;
    CHECK(status("call('x32', " + std::to_string(x32 | SYS_getpid) + ")") == killed);
}

#endif

namespace {

/// For good, in this process and what it starts: the open(2) of the launcher by which it closes
/// nested namespaces fails, as on a kernel without that setting. No other has these flags.
bool hide_the_limit_of_namespaces()
{
    constexpr unsigned flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW;
    const sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, flags, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return tests::install_seccomp_program(program);
}

std::string layer_detail(const sandbox::Machine& machine, const std::string& name)
{
    for (const auto& layer : machine.layers()) {
        if (layer.name == name) {
            return std::string(layer.in_force ? "" : "not ") + "in force: " + layer.detail + "\n";
        }
    }
    return "none\n";
}

} // namespace

TEST_CASE("where the limit of nested namespaces cannot be set, the filter forbids them")
{
    const auto told = told_by_child([] {
        if (!hide_the_limit_of_namespaces()) {
            return std::string("no filter");
        }
        Bench bench;
        const auto& machine = bench.make();
        const std::string unshare = "call('unshare', " + std::to_string(SYS_unshare) + ", ";
        const std::string clone = "call('clone', " + std::to_string(SYS_clone) + ", ";
        std::string text = layer_detail(machine, "nested-userns");
        text += layer_detail(machine, "cgroup-kill");
        text += bench.run("[ $(cat /proc/sys/user/max_user_namespaces) = 0 ] || echo unlimited");
        // CLONE_NEWUSER alone, among others, and with upper bits of which clone(2) takes no notice.
        text +=
            python(bench, unshare + "0x10000000)\n" + unshare + "0x10020000)\n" + clone +
                              "0x10000011, 0, 0, 0, 0)\n" + clone + "0x110000011, 0, 0, 0, 0)\n" +
                              "call('clone3', " + std::to_string(SYS_clone3) +
                              ", struct.pack('Q', 0x10000000) + bytes(80), 88)\n");
        // Threads and processes are made as ever.
        text += python(bench, "import subprocess, threading\n"
                              "thread = threading.Thread(target=print, args=('thread',))\n"
                              "thread.start(); thread.join()\n"
                              "print(subprocess.check_output(['echo', 'process'], text=True))");
        return text + bench.run("unshare -U true 2>/dev/null || echo refused");
    });
    CHECK(told == "in force: closed by seccomp\n"
                  "not in force: commands are stopped through a subreaper each\n"
                  "unlimited\n"
                  "unshare EPERM\nunshare EPERM\nclone EPERM\nclone EPERM\nclone3 ENOSYS\n"
                  "thread\nprocess\n\nrefused\n");
}
