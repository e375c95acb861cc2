// Makes system calls that it is told, each in a process of its own, and prints what came of each.
// Runs inside a sandbox, as a command of its session: static, since a template may have no
// libraries.
//
// Standard input: lines `NUMBER [ARGUMENT...]`, what is not given is -1 (an address that is
// nobody's, a descriptor that is not open, flags that no call takes), or `i386 NUMBER`, by `int
// 0x80`. Standard output: a line for each, `done`, `waits`, `ends`, `signal N` or the name of an
// error.

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int patience_ms = 150; // a call that waits for ever is one that is allowed
constexpr int ended = 77;        // exit status of a child that came back from its call

struct Call {
    bool i386 = false;
    long number = 0;
    std::array<long, 6> arguments{-1, -1, -1, -1, -1, -1};
};

/// Not the C library's: a child of vfork(2) would come back from it on its parent's stack.
[[gnu::always_inline]] inline long make(const Call& call)
{
    if (call.i386) {
        int result = 0;
        asm volatile("int $0x80"
                     : "=a"(result)
                     : "a"(static_cast<int>(call.number))
                     : "memory", "r8", "r9", "r10", "r11");
        return result;
    }
    // Before the registers have theirs: without optimization a subscript is a call, which uses
    // them.
    const auto [first, second, third, fourth, fifth, sixth] = call.arguments;
    register long r10 asm("r10") = fourth;
    register long r8 asm("r8") = fifth;
    register long r9 asm("r9") = sixth;
    long result = 0;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(call.number), "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

/// In the child. The result lies in memory that is shared: after some calls a descriptor is gone.
[[noreturn]] void try_it(const Call& call, long* result)
{
    const pid_t self = ::getpid();
    ::alarm(5); // whatever it did to its parent
    *result = 0;
    const long got = make(call);
    if (::getpid() == self) {
        *result = got;
        ::_exit(ended);
    }
    ::_exit(0); // of a call that made a process: this is it
}

std::string outcome(long result)
{
    if (result >= 0) {
        return "done";
    }
    const char* name = ::strerrorname_np(static_cast<int>(-result));
    return name != nullptr ? name : "error " + std::to_string(-result);
}

std::string attempt(const Call& call, long* result)
{
    const pid_t child = ::fork();
    if (child == 0) {
        ::setpgid(0, 0);
        try_it(call, result);
    }
    int status = 0;
    for (int waited = 0;; ++waited) {
        if (::waitpid(child, &status, WNOHANG) == child) {
            break;
        }
        if (waited == patience_ms) {
            ::kill(-child, SIGKILL);
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
            return "waits";
        }
        ::poll(nullptr, 0, 1);
    }
    ::kill(-child, SIGKILL); // what it has made
    if (WIFSIGNALED(status)) {
        return "signal " + std::to_string(WTERMSIG(status));
    }
    return WEXITSTATUS(status) == ended ? outcome(*result) : "ends";
}

Call parse(const std::string& line)
{
    Call call;
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "i386") {
        call.i386 = true;
        words >> word;
    }
    call.number = std::strtol(word.c_str(), nullptr, 0);
    for (std::size_t i = 0; i < call.arguments.size() && words >> word; ++i) {
        call.arguments.at(i) = static_cast<long>(std::strtoul(word.c_str(), nullptr, 0));
    }
    return call;
}

} // namespace

int main()
{
    auto* result = static_cast<long*>(
        ::mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (result == MAP_FAILED) {
        return 1;
    }
    for (std::string line; std::getline(std::cin, line);) {
        std::cout << attempt(parse(line), result) << std::endl;
    }
    return 0;
}
