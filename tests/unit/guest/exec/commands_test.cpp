#include "sandbox/base/error.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// What every command can rely on: shell, input, environment, directory, how it ends.

namespace berth::guest::test {
namespace {

using protocol::Fate;

ErrorCode code_of(const std::exception_ptr& error)
{
    REQUIRE(error);
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        return e.code();
    }
}

std::string message_of(const std::exception_ptr& error)
{
    REQUIRE(error);
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        return e.what();
    }
}

Error refusal(Guest& guest, const protocol::ExecuteRequest& request)
{
    try {
        (void)guest.start(request);
    } catch (const Error& error) {
        CHECK_FALSE(error.hint().empty());
        return error;
    }
    FAIL("the command was started");
    return {ErrorCode::internal, "unreachable"};
}

ErrorCode refused(Guest& guest, const protocol::ExecuteRequest& request)
{
    return refusal(guest, request).code();
}

} // namespace

TEST_CASE("a command: output, exit code, usage")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const auto done = guest.run("echo out; echo err >&2; exit 3");
        REQUIRE(!done.error);
        CHECK(done.reply.fate == Fate::exited);
        CHECK(done.reply.exit_code == 3);
        CHECK(done.reply.out.head == "out\n");
        CHECK(done.reply.err.head == "err\n");
        CHECK(done.reply.out.total_lines == 1);
        CHECK(done.reply.out.tail.empty());
        CHECK(!done.reply.out.held_open);
        CHECK(done.reply.job_id.empty());
        CHECK(done.reply.cwd == guest.home());
        CHECK(done.reply.cpu_time > 0);
        CHECK(!done.reply.usage_scope.empty());
        CHECK(done.reply.notice.empty());
        CHECK(guest.commands->running() == 0);
        CHECK(guest.commands->jobs().empty());
        CHECK(guest.commands->layers().front() ==
              (mode == Mode::cgroup ? "cgroup-kill" : "subreaper"));
    });
}

TEST_CASE("a command gets three descriptors, its own session, default signals, umask 022")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        CHECK(guest.run("ls /proc/$$/fd").reply.out.head == "0\n1\n2\n");
        CHECK(guest.run("readlink /proc/$$/fd/0").reply.out.head == "/dev/null\n");
        CHECK(guest.run("umask").reply.out.head == "0022\n");
        CHECK(guest
                  .run("[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && "
                       "[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo leader")
                  .reply.out.head == "leader\n");
        CHECK(guest.run("[ -t 0 ] || (: </dev/tty) 2>/dev/null || echo none").reply.out.head ==
              "none\n");
        // bash itself ignores SIGQUIT; what it runs shows what it was given.
        CHECK(guest.run("grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -s '\\t' ' '")
                  .reply.out.head == "SigBlk: 0000000000000000\nSigIgn: 0000000000000000\n");
        CHECK(guest.run("ulimit -c").reply.out.head == "0\n");
        CHECK(guest.run("echo $0 $- $LINENO").reply.out.head == "bash hBc 1\n");
    });
}

TEST_CASE("limits of the configuration are those of the command")
{
    Guest guest(Mode::subreaper, [](protocol::GuestConfig& config) {
        config.limit_nofile = 123;
        config.limit_fsize = 4096;
    });
    CHECK(guest.run("ulimit -Hn; ulimit -Sn; ulimit -f").reply.out.head == "123\n123\n4\n");
    CHECK(guest.commands->open_files() == 123);
}

TEST_CASE("of more open files than the guest may have, what it may have is told and given")
{
    rlimit own{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &own) == 0);
    Guest guest(Mode::subreaper, [&](protocol::GuestConfig& config) {
        config.limit_nofile = std::uint64_t{own.rlim_max} + 1;
    });
    CHECK(guest.run("ulimit -Hn").reply.out.head == std::to_string(own.rlim_max) + "\n");
    CHECK(guest.commands->open_files() == own.rlim_max);
}

TEST_CASE("signals and exit codes")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const auto killed = guest.run("echo before; kill -9 $$").reply;
        CHECK(killed.fate == Fate::signaled);
        CHECK(killed.exit_code == 137);
        CHECK(killed.signal == 9);
        CHECK(killed.out.head == "before\n");
        CHECK(guest.run("kill -TERM $$").reply.exit_code == 143);
        // The last command's signal is the shell's exit code: it does not replace the shell.
        const auto child = guest.run("bash -c 'kill -TERM $$'").reply;
        CHECK(child.fate == Fate::exited);
        CHECK(child.exit_code == 143);
        CHECK(guest.run("exit 255").reply.exit_code == 255);
        CHECK(guest.run("if").reply.exit_code == 2);
        CHECK(guest.run("echo ${a:?gone}").reply.exit_code == 127);
        CHECK(guest.run("set -e; false; echo no").reply.exit_code == 1);
        CHECK(guest.run("trap 'echo bye' EXIT; exit 4").reply.out.head == "bye\n");
        CHECK(guest.run("exec true").reply.exit_code == 0);
        CHECK(guest.run("false # a comment").reply.exit_code == 1);
        CHECK(guest.run("echo a\\").reply.out.head == "a\\\n");
        CHECK(guest.run("cat <<E\nfoo\nE").reply.out.head == "foo\n");
        CHECK(guest.run("no-such-program-x").reply.exit_code == 127);
    });
}

TEST_CASE("who asks to be traced goes on, and its end is no other's")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const auto traced = "perl -e 'syscall(" + std::to_string(SYS_ptrace) +
                            ", 0, 0, 0, 0) == 0 or exit 9; kill CHLD => $$; system(\"true\"); ";
        const auto reply = guest.run("exec " + traced + "exit 7'").reply; // the shim's own child
        CHECK(reply.exit_code == 7);
        CHECK(reply.job_id.empty());
        const auto left = guest.run("(exec >/dev/null 2>&1; sleep 0.3; exec " + traced +
                                    "open(F, \">ended\")') &"); // its child by then
        CHECK(left.reply.exit_code == 0);
        CHECK(guest.until([&] { return ::access((guest.home() + "/ended").c_str(), F_OK) == 0; }));
    });
}

TEST_CASE("what was printed is whole, however long the guest stands still at its end")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::function<void()> stand_still = [&] {
            ::usleep(150'000);
            (void)guest.loop.call_at(BootClock::now() + std::chrono::milliseconds(1), stand_still);
        };
        const auto running = guest.start(
            Guest::request("exec perl -e 'fcntl(STDOUT, " + std::to_string(F_SETPIPE_SZ) +
                           ", 1048576) or exit 9; syswrite(STDOUT, \"x\" x 1048576)'"));
        stand_still();
        const auto reply = guest.wait_for(running).reply;
        CHECK(reply.exit_code == 0);
        CHECK(reply.out.total_bytes == 1048576);
    });
}

TEST_CASE("stdin: given, large, empty, absent")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        auto request = Guest::request("cat; cat | wc -c");
        request.input = "hello\n";
        CHECK(guest.run(request).reply.out.head == "hello\n0\n");
        request = Guest::request("head -c 3; wc -c");
        request.input = std::string(3'000'000, 'x');
        CHECK(guest.run(request).reply.out.head == "xxx2999997\n");
        request = Guest::request("wc -c");
        request.input = "";
        CHECK(guest.run(request).reply.out.head == "0\n");
        CHECK(guest.run("wc -c").reply.out.head == "0\n");
        request = Guest::request("echo no >&0 || echo sealed");
        request.input = "text";
        CHECK(guest.run(request).reply.out.head == "sealed\n");
    });
}

TEST_CASE("a command of a megabyte runs like a short one")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        std::string command = "echo $0 $LINENO; ls /proc/self/fd; readlink /proc/$$/fd/0\n: '";
        command += std::string(1'000'000, 'x') + "'\necho $LINENO; exit 9";
        const auto reply = guest.run(command).reply;
        CHECK(reply.out.head == "bash 1\n0\n1\n2\n3\n/dev/null\n3\n");
        CHECK(reply.exit_code == 9);
        CHECK(reply.err.head.empty());
    });
}

TEST_CASE("a here-document without its end has what was written, as in bash")
{
    Guest guest(Mode::subreaper);
    const auto output = [&](const std::string& command) {
        return guest.run(command).reply.out.head;
    };
    CHECK(output("cat <<EOF\nhello") == "hello\n");
    CHECK(output("cat <<EOF\nhello\n") == "hello\n");
    CHECK(output("cat << 'E F'\n$a\n\n") == "$a\n\n");
    CHECK(output("cat <<-\\EOF; cat <<B\n\ta\n\tEOF\nb") == "a\nb\n");
    CHECK(output("cat <<A <<B\na\nA\nb") == "b\n");
}

TEST_CASE("the shell is not replaced by its last command, whatever looks like a here-document")
{
    Guest guest(Mode::subreaper);
    for (const std::string before :
         {":", ": <<EOF\n'\nEOF", ": <<-'E'\n\tE", "x=$(cat <<EOF\n(\nEOF\n)", ": $((1 << n))",
          "((n<<a))", ": <<<EOF", ": '<<EOF'", ": \"<<EOF\"", "# <<EOF"}) {
        CAPTURE(before);
        const auto out = guest.run(before + "\necho $$\nsh -c 'echo $$'").reply.out.head;
        const auto end = out.find('\n');
        REQUIRE(end != std::string::npos);
        CHECK(out.substr(end + 1) != out.substr(0, end + 1));
    }
}

TEST_CASE("environment: the session's, then the request's, then PWD")
{
    Guest guest(Mode::subreaper, [](protocol::GuestConfig& config) {
        config.environment["A"] = "session";
        config.environment["B"] = "session";
    });
    auto request = Guest::request("env | grep -Ev '^(PATH|HOME|_|SHLVL)=' | sort");
    request.environment = {{"B", "request"}, {"C.D", "odd name"}, {"PWD", "/lie"}, {"OLDPWD", "/"}};
    CHECK(guest.run(request).reply.out.head ==
          "A=session\nB=request\nC.D=odd name\nPWD=" + guest.home() + "\n");

    for (const std::string& name : {std::string(), std::string("a=b"), std::string("a\0b", 3)}) {
        request = Guest::request("true");
        request.environment = {{name, "x"}};
        CHECK(refused(guest, request) == ErrorCode::invalid_argument);
    }
    request = Guest::request("true");
    request.environment = {{"A", std::string("x\0y", 3)}};
    CHECK(refused(guest, request) == ErrorCode::invalid_argument);
    request.environment = {{"A", std::string(200'000, 'x')}};
    CHECK(code_of(guest.run(request).error) == ErrorCode::too_large);
}

TEST_CASE("what can never run is refused before anything does")
{
    Guest guest(Mode::subreaper);
    CHECK(refused(guest, Guest::request("")) == ErrorCode::empty_command);
    CHECK(refused(guest, Guest::request(" \n\t ")) == ErrorCode::empty_command);
    CHECK(refused(guest, Guest::request(std::string("a\0b", 3))) == ErrorCode::invalid_argument);
    CHECK(refused(guest, Guest::request("true", 0)) == ErrorCode::invalid_argument);
    auto request = Guest::request("true");
    request.id = "../x";
    CHECK(refused(guest, request) == ErrorCode::invalid_argument);
    request = Guest::request("true");
    request.workdir = std::string("/tmp\0x", 6);
    CHECK(refused(guest, request) == ErrorCode::invalid_path);
    request.workdir = std::string(5000, 'x');
    CHECK(refused(guest, request) == ErrorCode::invalid_path);
    request = Guest::request("true");
    request.environment = {{"A", std::string("a\0b", 3)}};
    CHECK(refused(guest, request) == ErrorCode::invalid_argument);
    CHECK(guest.commands->running() == 0);
}

TEST_CASE("workdir: for this call only")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        std::filesystem::create_directories(guest.home() + "/a/b");
        auto request = Guest::request("pwd; cd b; pwd");
        request.workdir = "a";
        auto reply = guest.run(request).reply;
        CHECK(reply.out.head == guest.home() + "/a\n" + guest.home() + "/a/b\n");
        CHECK(reply.cwd == guest.home());
        CHECK(!reply.cwd_changed);
        request = Guest::request("pwd");
        request.workdir = "~/a/b";
        CHECK(guest.run(request).reply.out.head == guest.home() + "/a/b\n");

        request = Guest::request("pwd");
        request.workdir = "/no/such";
        auto failed = guest.run(request);
        CHECK(code_of(failed.error) == ErrorCode::not_found);
        request = Guest::request("pwd");
        request.workdir = "/etc/passwd";
        CHECK(code_of(guest.run(request).error) == ErrorCode::invalid_path);
        CHECK(guest.commands->running() == 0);
        CHECK(guest.run("echo on").reply.out.head == "on\n");
    });
}

TEST_CASE("the working directory follows commands that end normally")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string home = guest.home();
        std::filesystem::create_directories(home + "/src/sub dir");
        auto reply = guest.run("cd src; exit 3").reply;
        CHECK(reply.cwd == home + "/src");
        CHECK(reply.cwd_changed);
        CHECK(guest.run("pwd; echo \"[$OLDPWD]\"").reply.out.head == home + "/src\n[]\n");
        CHECK(guest.run("cd 'sub dir' && ls").reply.cwd == home + "/src/sub dir");
        CHECK(guest.run("cd .. && true").reply.cwd == home + "/src");
        // Neither a subshell nor a program that goes elsewhere is the shell.
        CHECK(guest.run("(cd /); env -C / true").reply.cwd == home + "/src");
        CHECK(guest.run("trap 'echo bye' EXIT; set -e; cd /; false").reply.cwd == "/");
        CHECK(guest.run("cd " + home + "; kill -9 $$").reply.cwd == "/");
        CHECK(guest.run("cd " + home + "; sleep 10", 100).reply.cwd == "/");
        auto request = Guest::request("cd /tmp");
        request.sticky_cwd = false;
        CHECK(guest.run(request).reply.cwd == "/");
        // A command that began elsewhere and stayed there does not undo another's cd.
        const auto slow = guest.start(Guest::request("sleep 0.3"));
        CHECK(guest.run("cd /tmp").reply.cwd == "/tmp");
        CHECK(guest.wait_for(slow).reply.cwd == "/tmp");
    });
}

TEST_CASE("a working directory that is gone or closed: nothing is run, once, then it is the home")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        const std::string gone = guest.home() + "/gone";
        CHECK(guest.run("mkdir gone; cd gone").reply.cwd == gone);
        std::filesystem::remove(gone);
        // The mistake that this is about: meant for the build folder, run in the home.
        const auto refused = guest.run("touch " + guest.home() + "/ran; rm -rf ./*");
        CHECK(code_of(refused.error) == ErrorCode::not_found);
        CHECK(message_of(refused.error).find(gone + " is gone; nothing was run") !=
              std::string::npos);
        CHECK(!std::filesystem::exists(guest.home() + "/ran"));
        CHECK(guest.run("pwd; echo $PWD").reply.out.head ==
              guest.home() + "\n" + guest.home() + "\n");
        const auto self = guest.run("mkdir x; cd x; rmdir ../x").reply;
        CHECK(self.cwd == guest.home());
        CHECK(!self.notice.empty());
        // A workdir of the call's own is another matter: the session stays where it is.
        CHECK(guest.run("mkdir here; cd here").reply.cwd == guest.home() + "/here");
        auto elsewhere = Guest::request("true");
        elsewhere.workdir = "/nowhere";
        CHECK(code_of(guest.run(elsewhere).error) == ErrorCode::not_found);
        CHECK(guest.run("pwd").reply.out.head == guest.home() + "/here\n");
    });
}

TEST_CASE("a command is not run when its output cannot be watched")
{
    Guest guest(Mode::subreaper);
    // Descriptors run out before the clone: whatever fails, it fails then.
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const int free = ::dup(0);
    ::close(free);
    const rlimit tight{static_cast<rlim_t>(free), before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    const auto code = refused(guest, Guest::request("touch " + guest.home() + "/ran"));
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(code == ErrorCode::busy);
    CHECK(guest.run("echo on").reply.out.head == "on\n");
    CHECK(!std::filesystem::exists(guest.home() + "/ran"));
}

TEST_CASE("calls at once are limited, and known")
{
    Guest guest(Mode::subreaper, [](protocol::GuestConfig& config) { config.max_calls = 2; });
    guest.commands->wait_for_places(std::chrono::milliseconds(50));
    const auto longer = Guest::request("sleep 300", 300'000);
    const auto sooner = Guest::request("sleep 300", 200'000);
    const auto one = guest.start(longer);
    const auto two = guest.start(sooner);
    CHECK(guest.commands->running() == 2);
    const auto third = guest.run("true");
    CHECK(message_of(third.error) ==
          "2 commands of this session are running, and 2 may at once (session.calls)");
    try {
        std::rethrow_exception(third.error);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::busy);
        CHECK(error.hint().find("can raise session.calls") != std::string::npos);
        const auto& seconds = error.details().at("retry_after"); // the sooner of the two
        CHECK(std::stoi(seconds) <= 200);
        CHECK(std::stoi(seconds) > 0);
        CHECK(error.hint().find("ends in " + seconds + " s at the latest") != std::string::npos);
    }
    guest.commands->cancel(longer.id);
    guest.commands->cancel(sooner.id);
    guest.wait_for(one);
    guest.wait_for(two);
    CHECK(guest.run("true").reply.fate == Fate::exited);
}

TEST_CASE("one id runs once at a time")
{
    Guest guest(Mode::subreaper);
    const auto request = Guest::request("sleep 0.2");
    const auto first = guest.start(request);
    CHECK(refused(guest, request) == ErrorCode::invalid_argument);
    guest.wait_for(first);
}

TEST_CASE("a cgroup that refuses: the command runs all the same, and layers() tells")
{
    Guest guest(Mode::subreaper, [](protocol::GuestConfig& config) {
        static const UniqueFd not_a_cgroup(::dup(0));
        config.commands_cgroup_fd = not_a_cgroup.get();
    });
    CHECK(guest.run("echo on").reply.out.head == "on\n");
    CHECK(guest.commands->layers().front() == "subreaper");
}

TEST_CASE("a cgroup that refuses, and has the limits: the command does not run outside of them")
{
    for (const char* kind : {"no directory", "no cgroup"}) {
        CAPTURE(kind);
        const UniqueFd fake(std::string(kind) == "no cgroup" ? ::open("/tmp", O_RDONLY | O_CLOEXEC)
                                                             : ::dup(0));
        Guest guest(Mode::subreaper, [&](protocol::GuestConfig& config) {
            config.commands_cgroup_fd = fake.get();
            config.limits_by_cgroup = true;
        });
        for (int round = 0; round < 2; ++round) {
            const auto request = Guest::request("touch ran");
            CHECK(refused(guest, request) == ErrorCode::sandbox_unavailable);
            CHECK(::access(("/tmp/" + request.id).c_str(), F_OK) != 0);
        }
        CHECK(::access((guest.home() + "/ran").c_str(), F_OK) != 0);
    }
}

TEST_CASE("a cgroup whose limits cannot be joined (v1): the command does not run outside of them")
{
    Guest guest(Mode::subreaper, [](protocol::GuestConfig& config) {
        static const UniqueFd read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        config.v1_tasks_fds = {read_only.get()};
    });
    CHECK(guest.run("touch ran").error);
    CHECK(::access((guest.home() + "/ran").c_str(), F_OK) != 0);
}

TEST_CASE("without bash: sh runs everything, and the result says so")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode, {}, {"/bin/sh", false});
        const auto first = guest.run("echo on; mkdir d; cd d; exit 3").reply;
        CHECK(first.out.head == "on\n");
        CHECK(first.exit_code == 3);
        CHECK(first.notice.find("/bin/sh") != std::string::npos);
        CHECK(guest.run("pwd").reply.out.head == guest.home() + "/d\n");
        const auto large =
            guest.run("ls /proc/self/fd | wc -l\n: '" + std::string(500'000, 'x') + "'\nexit 9");
        CHECK(large.reply.out.head == "4\n"); // 0 to 2 and that of ls
        CHECK(large.reply.exit_code == 9);
        auto request = Guest::request("cat");
        request.input = "given";
        CHECK(guest.run(request).reply.out.head == "given");
        const auto stopped = guest.run("sleep 300 & sleep 300", 300).reply;
        CHECK(stopped.fate == protocol::Fate::timed_out);
        CHECK(stopped.survivors == 0);
    });
}

} // namespace berth::guest::test
