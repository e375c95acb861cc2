// What is appended goes into the file itself: who must not see a part of it, and what is taken
// back.

#include "sandbox/base/sha256.hpp"
#include "sandbox/guest/files/content_lock.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/guest/files/content_waiter.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <stop_token>
#include <thread>

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using berth::tests::becomes_true;

namespace {

protocol::WriteFileReply append(const Machine& machine, const std::string& path,
                                const std::string& content, const std::string& if_sha256 = {})
{
    protocol::WriteFileRequest request;
    request.path = path;
    request.content = content;
    request.mode = protocol::WriteMode::append;
    request.if_sha256 = if_sha256;
    return write_file(request, machine.context);
}

/// Of more than this a file takes nothing, in the process of append_watched().
constexpr rlim_t room = 500;

/// Appends 2000 bytes to "f" in a process that stops before each of its writes to it, for
/// `before_write` with its number and the process. The error word it ended with.
std::string append_watched(const Machine& machine,
                           const std::function<void(int, pid_t)>& before_write)
{
    const Pipe pipe = make_pipe();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const rlimit limit{room, 100 * room};
        std::string word = "none";
        if (::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || ::setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
            ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
            ::_exit(1);
        }
        ::raise(SIGSTOP);
        try {
            (void)append(machine, "f", std::string(2000, 'n'));
        } catch (const Error& error) {
            word = to_string(error.code());
        }
        write_full(pipe.write.get(), word);
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSTOPPED(status));
    ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (int writes = 0; WIFSTOPPED(status);) {
        __ptrace_syscall_info call = {};
        if (WSTOPSIG(status) == (SIGTRAP | 0x80) &&
            ::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(call), &call) > 0 &&
            call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == SYS_write &&
            call.entry.args[2] > room) {
            before_write(++writes, child);
        }
        REQUIRE(::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0);
        REQUIRE(::waitpid(child, &status, 0) == child);
    }
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    std::string word(64, '\0');
    const auto size = ::read(pipe.read.get(), word.data(), word.size());
    word.resize(static_cast<std::size_t>(size > 0 ? size : 0));
    return word;
}

/// What a command does.
void append_by_command(const Machine& machine, const std::string& text)
{
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    write_full(file.get(), text);
}

} // namespace

TEST_CASE("an append to a large file reads nothing of it, unless its hash was asked for")
{
    const Machine machine;
    const std::string old(3'000'000, 'x');
    machine.put("log", old);
    const auto bytes_read = [] {
        const std::string io = read_file_limited(AT_FDCWD, "/proc/self/io", 1000);
        return std::strtoull(io.c_str() + io.find("rchar: ") + 7, nullptr, 10);
    };
    const auto before = bytes_read();
    auto reply = append(machine, "log", "one\n");
    CHECK(bytes_read() - before < 100'000);
    CHECK(reply.size == 3'000'004);
    CHECK(reply.sha256.empty());
    reply = append(machine, "log", "two\n", sha256_hex(old + "one\n"));
    CHECK(reply.sha256 == sha256_hex(old + "one\ntwo\n"));
    CHECK(machine.get("log") == old + "one\ntwo\n");
}

TEST_CASE("an append that is cancelled behind its write is told as written")
{
    Machine machine;
    const std::string old(64'000'000, 'x');
    machine.put("log", old);
    const std::string hash = sha256_hex(old);
    std::stop_source stop;
    machine.context.stop = stop.get_token();
    std::jthread canceller([&] {
        while (machine.status("log").st_size == static_cast<off_t>(old.size())) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        // Who reads waits for the write only, not for the hash.
        const UniqueFd file(::open((machine.home + "/log").c_str(), O_RDONLY | O_CLOEXEC));
        CHECK(ContentLock(file.get(), ContentLock::Kind::shared, {}).owns());
        stop.request_stop();
    });
    const auto reply = append(machine, "log", "one\n", hash);
    CHECK(reply.bytes == 4);
    CHECK(reply.size == old.size() + 4);
    CHECK(reply.sha256.empty()); // the hash, not the write, was left out
}

TEST_CASE("an append waits for who reads the file, and a cancelled one has not been")
{
    Machine machine;
    machine.put("f", "old");
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    for (const bool cancel : {true, false}) {
        CAPTURE(cancel);
        std::stop_source stop;
        machine.context.stop = stop.get_token();
        std::string outcome = "written";
        ContentLock reader(file.get(), ContentLock::Kind::shared, {});
        std::jthread writer([&] {
            try {
                (void)append(machine, "f", " new");
            } catch (const Error& error) {
                outcome = to_string(error.code());
            }
        });
        CHECK(becomes_true([&] { return a_writer_waits(file.get()); }));
        CHECK(machine.get("f") == "old");
        if (cancel) {
            stop.request_stop();
        } else {
            reader = ContentLock();
        }
        writer.join();
        CHECK((outcome == "cancelled") == cancel);
        CHECK((machine.get("f") == "old") == cancel);
    }
}

TEST_CASE("what is taken back of an append that failed is what was written of it, nothing else")
{
    const Machine machine;
    const std::string old(100, 'o');
    const auto ours = [](std::size_t size) { return std::string(size, 'n'); };
    const auto command = [&] { append_by_command(machine, "command"); };

    machine.put("f", old);
    CHECK(append_watched(machine, [](int, pid_t) {}) == "too_large");
    CHECK(machine.get("f") == old);
    // In front of the first byte, when the file's size was seen already.
    CHECK(append_watched(machine, [&](int number, pid_t) {
              if (number == 1) {
                  command();
              }
          }) == "too_large");
    CHECK(machine.get("f") == old + "command");
    // Behind the last one.
    machine.put("f", old);
    CHECK(append_watched(machine, [&](int number, pid_t) {
              if (number == 2) {
                  command();
              }
          }) == "too_large");
    CHECK(machine.get("f") == old + ours(400) + "command");
    // Between two parts: to cut off both would cut off that too.
    machine.put("f", old);
    CHECK(append_watched(machine, [&](int number, pid_t child) {
              if (number == 2) {
                  command();
                  const rlimit more{2 * room, 100 * room};
                  REQUIRE(::prlimit(child, RLIMIT_FSIZE, &more, nullptr) == 0);
              }
          }) == "too_large");
    CHECK(machine.get("f") == old + ours(400) + "command" + ours(493));
}
