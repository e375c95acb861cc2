// What holds inside a machine, seen by a command in it.

#include "sandbox/base/error.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

TEST_CASE("a command is uid 1000 without any privilege")
{
    Bench bench;
    bench.make();
    CHECK(bench.run("id -u; id -g; id -un; hostname") == "1000\n1000\nuser\nberth\n");
    CHECK(bench.run("grep -c '^Cap.*:\\s0000000000000000$' /proc/self/status") == "5\n");
    CHECK(bench.run("grep NoNewPrivs /proc/self/status") == "NoNewPrivs:\t1\n");
    CHECK(bench.run("unshare -U true 2>/dev/null; echo $?") == "1\n");
    CHECK(bench.run("mount -t tmpfs none /tmp 2>/dev/null || echo refused") == "refused\n");
    CHECK(bench.run("chroot / true 2>/dev/null || echo refused") == "refused\n");
}

TEST_CASE("only the session's processes can be seen")
{
    Bench bench;
    bench.make();
    CHECK(bench.run("tr '\\0' ' ' </proc/1/cmdline | cut -d' ' -f1") == "berth-guest\n");
    // The shell of the command before has closed its output, but may not be reaped yet.
    CHECK(tests::becomes_true([&] { return bench.run("set -- /proc/[0-9]*; echo $#") == "2\n"; }));
    CHECK(bench.run("kill -9 " + std::to_string(::getpid()) + " 2>&1 | grep -c 'No such'") ==
          "1\n");
}

TEST_CASE("the guest is out of its commands' reach")
{
    Bench bench;
    bench.make();
    for (const std::string attack :
         {"cat /proc/1/environ", "ls /proc/1/fd/", "ls /proc/1/root/", "readlink /proc/1/exe",
          "cat /proc/1/mem", "prlimit --pid 1 --nofile=0:0", "prlimit --pid 1 --cpu=1:1",
          "taskset -p 1 1", "renice -n 19 -p 1", "renice -n 19 -g 1", "renice -n 19 -u 1000",
          "ionice -c 3 -p 1", "ionice -c 3 -P 1", "ionice -c 3 -u 1000", "chrt -i -p 0 1",
          "echo 500 >/proc/1/oom_score_adj", "choom -p 1 -n 500"}) {
        CAPTURE(attack);
        CHECK(bench.run("(" + attack + ") >/dev/null 2>&1 && echo done || echo refused") ==
              "refused\n");
    }
    // What programs do to themselves goes on working.
    CHECK(bench.run("ulimit -n 64 && ulimit -n") == "64\n");
    CHECK(bench.run("taskset -p 1 $$ >/dev/null && nice -n 5 true && echo fine") == "fine\n");
    CHECK(bench.run("ionice -c 3 true && echo fine") == "fine\n");
}

TEST_CASE("the keyrings of whoever started the server are out of reach")
{
    Bench bench;
    bench.make();
    const auto call = [&](long number) {
        return bench.run("python3 -c 'import ctypes, errno; libc = ctypes.CDLL(None, "
                         "use_errno=True); libc.syscall(" +
                         std::to_string(number) +
                         ", 10, -3, b\"user\", b\"berth-test\", 0); "
                         "print(errno.errorcode.get(ctypes.get_errno(), \"done\"))'");
    };
    CHECK(call(SYS_keyctl) == "EPERM\n");
    CHECK(call(SYS_add_key) == "EPERM\n");
    CHECK(call(SYS_request_key) == "EPERM\n");
}

TEST_CASE("killing everything kills the session's processes and not the guest")
{
    Bench bench;
    bench.make();
    bench.run("for s in $(seq 1 64); do kill -$s 1; done 2>/dev/null; kill -9 -1");
    CHECK(bench.run("echo alive") == "alive\n");
}

TEST_CASE("a command has the standard streams and nothing else open")
{
    Bench bench;
    bench.make();
    CHECK(bench.run("ls /proc/$$/fd; exit") == "0\n1\n2\n");
    CHECK(bench.run("readlink /proc/self/cwd /proc/self/root") == "/home/user\n/\n");
}

TEST_CASE("the environment is the standard one and what the operator gave")
{
    ::setenv("BERTH_SECRET_OF_THE_SERVER", "x", 1); // NOLINT(concurrency-mt-unsafe)
    Bench bench;
    auto spec = Bench::spec();
    spec.environment = {{"GIVEN", "a b"}, {"TERM", "xterm"}};
    bench.make(spec);
    std::istringstream lines(bench.run("env -u PWD -u SHLVL -u _"));
    std::map<std::string, std::string> found;
    for (std::string line; std::getline(lines, line);) {
        const auto equals = line.find('=');
        found[line.substr(0, equals)] = line.substr(equals + 1);
    }
    const std::map<std::string, std::string> expected{
        {"DEBIAN_FRONTEND", "noninteractive"},
        {"GIT_PAGER", "cat"},
        {"GIT_TERMINAL_PROMPT", "0"},
        {"GIVEN", "a b"},
        {"HOME", "/home/user"},
        {"LANG", "C.UTF-8"},
        {"LOGNAME", "user"},
        {"NPM_CONFIG_FETCH_RETRIES", "0"},
        {"NPM_CONFIG_PREFIX", "/home/user/.local"},
        {"NPM_CONFIG_UPDATE_NOTIFIER", "false"},
        {"PAGER", "cat"},
        {"PATH", "/home/user/.local/bin:/etc/berth/bin:"
                 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"PIP_BREAK_SYSTEM_PACKAGES", "1"},
        {"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
        {"PIP_RETRIES", "0"},
        {"SHELL", "/bin/bash"},
        {"TERM", "xterm"},
        {"TMPDIR", "/tmp"},
        {"USER", "user"},
    };
    CHECK(found == expected);
}

TEST_CASE("nothing of the host's files is there but programs")
{
    Bench bench;
    bench.make();
    const std::string secret = bench.directory() + "/secret-of-the-host";
    write_text(secret, "x");
    CHECK(bench.run("cat " + secret + " 2>/dev/null; ls " + bench.state() + " 2>/dev/null") == "");
    CHECK(bench.run("find / -name secret-of-the-host 2>/dev/null") == "");
    CHECK(bench.run("ls -A /sys /boot /var/lib /run/berth 2>/dev/null") == "");
    CHECK(bench.run("ls -A / | tr '\\n' ' ' | grep -cwE 'sys|old_root|boot|lost\\+found'") ==
          "0\n");
    CHECK(bench.run("cat /proc/self/mountinfo | grep -c ' / / '") == "1\n");
}

TEST_CASE("what is the host's cannot be written, what is the session's can")
{
    Bench bench;
    bench.make();
    for (const std::string place : {"/", "/usr", "/etc", "/etc/ssl", "/opt", "/dev", "/home",
                                    "/proc/sys/kernel", "/mnt", "/etc/berth/bin"}) {
        CAPTURE(place);
        CHECK(bench.run("touch " + place + "/x 2>/dev/null && echo written") == "");
    }
    for (const std::string place :
         {"/home/user", "/tmp", "/var/tmp", "/run", "/dev/shm", "/home/user/.local/bin"}) {
        CAPTURE(place);
        CHECK(bench.run("mkdir -p " + place + "; touch " + place + "/x && echo written") ==
              "written\n");
    }
    CHECK(bench.run("echo x >/dev/null && head -c 3 /dev/zero | wc -c") == "3\n");
    CHECK(bench.run("script -qc 'echo pty' /dev/null 2>/dev/null | tr -d '\\r'") == "pty\n");
}

TEST_CASE("masks lie over what tells of the host")
{
    Bench bench;
    bench.make();
    for (const std::string file : {"kcore", "keys", "sysrq-trigger", "timer_list", "kallsyms"}) {
        CAPTURE(file);
        CHECK(bench.run("cat /proc/" + file + " 2>/dev/null | wc -c") == "0\n");
    }
    CHECK(bench.run("(echo 1 >/proc/sys/user/max_user_namespaces) 2>/dev/null && echo written") ==
          "");
    CHECK(bench.run("cat /proc/sys/user/max_user_namespaces") == "0\n");
    CHECK(bench.run("grep -q MemTotal /proc/meminfo && grep -q . /proc/cpuinfo && echo there") ==
          "there\n");
}

TEST_CASE("the network is loopback only")
{
    Bench bench;
    bench.make();
    CHECK(bench.run("grep -c : /proc/net/dev; grep -o 'lo:' /proc/net/dev") == "1\nlo:\n");
    CHECK(bench.run("(echo >/dev/tcp/127.0.0.1/9) 2>&1 | grep -om1 refused") == "refused\n");
    CHECK(bench.run("(echo >/dev/tcp/192.0.2.1/80) 2>&1 | grep -om1 unreachable") ==
          "unreachable\n");
}

TEST_CASE("/etc names the session's user and nobody of the host")
{
    Bench bench;
    bench.make();
    CHECK(bench.run("cut -d: -f1 /etc/passwd | tr '\\n' ' '") == "root user nobody ");
    CHECK(bench.run("ls /etc/shadow /etc/gshadow /etc/sudoers /etc/ssl/private 2>/dev/null") == "");
    CHECK(bench.run("cat /etc/resolv.conf") == "");
    const std::string id = bench.run("cat /etc/machine-id");
    CHECK(id.size() == 33);
    CHECK(id != read_text("/etc/machine-id"));
    CHECK(bench.run("(chmod u+w /etc/machine-id; echo x >/etc/machine-id) 2>/dev/null || "
                    "cat /etc/machine-id") == id);
    CHECK(bench.run("getent hosts localhost | grep -c localhost") == "1\n");
    CHECK(bench.run("sudo ls 2>&1").starts_with("sudo: this sandbox has one user"));
    CHECK(bench.run("apt-get install x 2>&1").find("pip, npm or cargo") != std::string::npos);
}

TEST_CASE("mounts: read-only as they are, writable ones with their owner's files")
{
    Bench bench;
    const std::string source = bench.directory() + "/project";
    ::mkdir(source.c_str(), 0755);
    write_text(source + "/file", "content");
    auto spec = Bench::spec();
    spec.mounts = {{source, "/home/user/w", true}, {source, "/mnt/r", false}};
    bench.make(spec);
    CHECK(bench.run("cat /mnt/r/file; touch /mnt/r/new 2>&1 | grep -c Read-only") == "content1\n");
    CHECK(bench.run("stat -c %u:%g w/file; echo more >w/new; echo x >>w/file; cat w/file") ==
          "1000:1000\ncontentx\n");
    struct stat made{};
    REQUIRE(::stat((source + "/new").c_str(), &made) == 0);
    CHECK(made.st_uid == ::geteuid());
    CHECK(made.st_gid == ::getegid());
}

TEST_CASE("a link in the home leads no mount astray")
{
    Bench bench;
    bench.make();
    bench.run("ln -s /tmp escape; ln -s ../../../../../var/tmp up");
    bench.destroy();
    const std::string source = bench.directory() + "/project";
    ::mkdir(source.c_str(), 0755);
    for (const std::string target : {"/home/user/escape/in", "/home/user/up/in"}) {
        auto spec = Bench::spec();
        spec.mounts = {{source, target, false}};
        CAPTURE(target);
        CHECK_THROWS_AS(bench.make(spec), Error);
    }
    CHECK_FALSE(exists("/var/tmp/in"));
    bench.make();
    CHECK(bench.run("ls /tmp /var/tmp") == "/tmp:\n\n/var/tmp:\nberth\n");
}

TEST_CASE("an entry that is in a mount's way is named, with what it is and what helps")
{
    Bench bench;
    const std::string folder = bench.directory() + "/project";
    const std::string file = bench.directory() + "/notes";
    ::mkdir(folder.c_str(), 0755);
    ::mkdir((folder + "/sub").c_str(), 0755);
    ::mkdir((folder + "/sub/deep").c_str(), 0755);
    write_text(file, "x");
    auto spec = Bench::spec();
    bench.make(spec);
    bench.run("mkdir dir real; echo x >file; ln -s real link; mkfifo pipe");
    bench.destroy();
    const auto refused = [&](std::vector<sandbox::Mount> mounts) {
        spec.mounts = std::move(mounts);
        try {
            bench.make(spec);
        } catch (const Error& error) {
            return std::string(error.what()) + " | " + error.hint();
        }
        bench.destroy();
        return std::string("mounted");
    };
    const std::string home = "/home/user/";
    const auto says = [](const std::string& text, const std::string& part) {
        CAPTURE(text);
        CHECK(text.find(part) != std::string::npos);
    };
    says(refused({{folder, home + "link/in", false}}), home + "link is a symbolic link");
    says(refused({{folder, home + "link/in/deep", false}}), home + "link is a symbolic link");
    says(refused({{folder, home + "link", false}}), home + "link is a symbolic link");
    says(refused({{folder, home + "file/in", false}}), home + "file is a file");
    says(refused({{folder, home + "file", false}}), home + "file is a file");
    says(refused({{folder, home + "pipe", false}}), home + "pipe is a pipe");
    says(refused({{file, home + "dir", false}}), home + "dir is a folder");
    says(refused({{file, home + "dir", false}}), "`berth sessions kill one --purge`");
    // What lies in another mount is on the host, where the home's end would not help.
    REQUIRE(::symlink("sub", (folder + "/way").c_str()) == 0);
    const auto other = refused({{folder, "/mnt/a", false}, {folder, "/mnt/a/way/deep", false}});
    says(other, "/mnt/a/way (on the host " + folder + "/way) is a symbolic link");
    CHECK(other.find("--purge") == std::string::npos);
    // Nothing of it was followed or lost, and without the mount the session is as before.
    spec.mounts.clear();
    bench.make(spec);
    CHECK(bench.run("ls; ls real") == "dir\nfile\nlink\npipe\nreal\n");
}

TEST_CASE("programs that people expect")
{
    Bench bench;
    bench.make();
    const std::map<std::string, std::string> programs = {
        {"awk", "echo 1 2 | awk '{print $1+$2}'"},
        {"cc", "echo 'int main(void){return 0;}' >a.c && cc a.c -o a && ./a"},
        {"g++", "echo '#include <string>' >b.cpp && g++ -c b.cpp"},
        {"java", "java -version"},
        {"git", "git init -q r && cd r && echo a >f && git add f && git commit -qm a && git log"},
        {"node", "node -e 'require(\"os\").userInfo(); console.log(1)'"},
        {"npm", "npm --version"},
        {"perl", "perl -e 'print join \",\", getpwuid($<)'"},
        {"python3", "python3 -c 'import ssl,os,pwd; pwd.getpwuid(os.getuid())'"},
        {"pip", "pip --version"},
        {"vim", "vim --version"},
        {"make", "make --version"},
    };
    for (const auto& [name, script] : programs) {
        if (bench.run("command -v " + name) != "") {
            const std::string result = bench.run(script + " >out 2>&1; echo $?; cat out");
            CAPTURE(name);
            CAPTURE(result);
            CHECK(result.starts_with("0\n"));
        }
    }
}
