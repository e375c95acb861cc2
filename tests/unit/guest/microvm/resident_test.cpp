#include "sandbox/base/io.hpp"
#include "sandbox/protocol/residence.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/guest/microvm/resident.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

using berth::protocol::ConnectorEnd;
using berth::protocol::FrameType;
using berth::protocol::Operation;
using berth::tests::becomes_true;
using berth::tests::Ended;
using berth::tests::opening_of;
using berth::tests::Resident;

namespace {

bool ended_as(const Ended& ended, ConnectorEnd wanted)
{
    INFO(ended.error);
    return ended.status == static_cast<int>(wanted);
}

std::string write_request(const Resident& machine, const std::string& path,
                          const std::string& content)
{
    berth::protocol::WriteFileRequest request;
    request.path = path;
    request.content = content;
    return opening_of(machine.hello(), Operation::write_file, berth::protocol::encode(request));
}

/// Prints its pid: that of the parent of the shell's shim.
constexpr const char* its_guest = "sed -n 's/^PPid:\t//p' /proc/$PPID/status";

/// A time to sleep that is no other test's.
std::string unlike_any(int number)
{
    return std::to_string(1'000'000L * number + ::getpid());
}

/// How many sleep for so long.
std::size_t sleepers(const std::string& time)
{
    using namespace std::string_literals;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::ifstream file(entry.path() / "cmdline");
        std::ostringstream text;
        text << file.rdbuf();
        count += text.str() == "sleep\0"s + time + '\0' ? 1U : 0U;
    }
    return count;
}

constexpr const char* own_score = "/proc/self/oom_score_adj";

std::string score_of(const std::string& process)
{
    return berth::read_file_limited(AT_FDCWD, "/proc/" + process + "/oom_score_adj", 100);
}

/// The text of that line of a file of /proc.
std::string line_of(const std::string& file, const std::string& name)
{
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name + ':')) {
            return line;
        }
    }
    return "there is no " + name;
}

/// What this host's root may have: in a container it is mostly without CAP_SYS_RESOURCE.
std::string lowest_score()
{
    constexpr unsigned long long sys_resource = 1ULL << 24U;
    const auto line = line_of("/proc/self/status", "CapEff");
    const auto own = std::stoull(line.substr(line.find('\t')), nullptr, 16);
    return (own & sys_resource) != 0 ? "-1000\n" : "0\n";
}

bool has_set_user_ids(const std::string& path)
{
    struct statvfs status{};
    return ::statvfs(path.c_str(), &status) == 0 && (status.f_flag & ST_NOSUID) == 0;
}

/// Raised for as long as this lives.
class ScoreOfThisProcess {
  public:
    explicit ScoreOfThisProcess(const std::string& score)
        : before_(berth::read_file_limited(AT_FDCWD, own_score, 100))
    {
        std::ofstream(own_score) << score;
    }

    ~ScoreOfThisProcess() { std::ofstream(own_score) << before_; }

    ScoreOfThisProcess(const ScoreOfThisProcess&) = delete;
    ScoreOfThisProcess& operator=(const ScoreOfThisProcess&) = delete;

  private:
    const std::string before_;
};

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

// All of it is root's work in a microVM, so there is nothing to be seen without.
TEST_SUITE("resident" * doctest::skip(::geteuid() != 0))
{
    TEST_CASE(
        "a resident guest stays, answers a call by each connector, and tells the answer's end")
    {
        const Resident machine;
        machine.upload(machine.config());
        const auto resided = machine.reside(); // returns: nothing of it is held open by the guest
        REQUIRE_MESSAGE(resided.status == 0, resided.error);
        CHECK_FALSE(std::filesystem::exists(machine.folder() + "/config"));
        for (int call = 0; call < 3; ++call) {
            const auto ended =
                machine.connect(machine.seal(opening_of(machine.hello(), Operation::ping, "")));
            CHECK(ended_as(ended, ConnectorEnd::answered));
            const auto frames = ended.frames();
            REQUIRE(frames.size() == 2);
            CHECK(frames[0].type == FrameType::hello_reply);
            CHECK(frames[1].type == FrameType::reply);
        }
    }

    TEST_CASE("commands and files of a resident guest are the user's, who cannot touch the guest")
    {
        const Resident machine;
        machine.upload(machine.config());
        REQUIRE(machine.reside().status == 0);
        CHECK(machine.run("id -u; id -g; id -G; umask") == "65534\n65534\n65534\n0022\n0");
        CHECK(machine.run("grep -E '^(CapEff|CapPrm|NoNewPrivs)' /proc/self/status") ==
              "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t0\n0");
        const auto written =
            machine.connect(machine.seal(write_request(machine, "from-write", "text")));
        CHECK(ended_as(written, ConnectorEnd::answered));
        CHECK(machine.run("echo more >>from-write; stat -c %u:%g:%a from-write") ==
              "65534:65534:644\n0");

        const std::string secret = machine.home() + "/roots";
        std::ofstream(secret) << "secret";
        REQUIRE(::chmod(secret.c_str(), 0600) == 0);
        CHECK(machine.run("cat roots 2>/dev/null") == "1");
        berth::protocol::ReadFileRequest request;
        request.path = secret;
        request.limit = 10;
        request.budget = 1000;
        const auto read = machine.connect(machine.seal(
            opening_of(machine.hello(), Operation::read_file, berth::protocol::encode(request))));
        REQUIRE(read.frames().back().type == FrameType::error);
        CHECK(berth::protocol::decode<berth::protocol::ErrorMessage>(read.frames().back().payload)
                  .code == "permission_denied");

        CHECK(machine.run("kill -9 $PPID $(" + std::string(its_guest) +
                          ") 2>&1 | grep -c 'not permitted'") == "2\n0");
        CHECK(machine.run("cat " + machine.folder() + "/key 2>/dev/null") == "1");
        // A lower score than it was given would have others killed in its place.
        CHECK(machine.run("(echo -1000 >/proc/self/oom_score_adj) 2>/dev/null || echo refused") ==
              "refused\n0");
    }

    TEST_CASE("a resident guest is killed after all else, and its commands are as they were given")
    {
        const Resident machine;
        machine.upload(machine.config());
        {
            const ScoreOfThisProcess as_of_envd("200");
            REQUIRE(machine.reside().status == 0);
        }
        const auto guest = machine.run(its_guest);
        CHECK(score_of(guest.substr(0, guest.find('\n'))) == lowest_score());
        CHECK(machine.run("cat /proc/self/oom_score_adj; setsid cat /proc/self/oom_score_adj; "
                          "cat /proc/$PPID/oom_score_adj") == "200\n200\n200\n0");
        CHECK(score_of(guest.substr(0, guest.find('\n'))) == lowest_score());
    }

    TEST_CASE("a command of a resident guest has no wall around it but its user")
    {
        const Resident machine;
        machine.upload(machine.config());
        REQUIRE(machine.reside().status == 0);
        // What keeps set-user-id programs, such as sudo, from working: as this process has it.
        for (const std::string name : {"NoNewPrivs", "Seccomp", "CapBnd"}) {
            CAPTURE(name);
            const auto own = line_of("/proc/self/status", name);
            CHECK(machine.run("grep '^" + name + ":' /proc/self/status") == own + "\n0");
        }
        const auto as_root = machine.home() + "/../as-root";
        std::filesystem::copy_file("/usr/bin/env", as_root);
        REQUIRE(::chmod(as_root.c_str(), 04755) == 0);
        // Where this host's temporary folder has no such programs the lines above say it alone.
        const std::string becomes = has_set_user_ids(as_root) ? "0" : "65534";
        CHECK(machine.run("id -u; " + as_root + " id -u") == "65534\n" + becomes + "\n0");
    }

    TEST_CASE("what an opening lacks comes behind it, however large")
    {
        const Resident machine;
        machine.upload(machine.config());
        REQUIRE(machine.reside().status == 0);
        const std::string content(3'000'000, 'c');
        const auto all = write_request(machine, "large", content);
        const auto ended = machine.connect(machine.seal(all.substr(0, 1000)), all.substr(1000));
        CHECK(ended_as(ended, ConnectorEnd::answered));
        CHECK(std::filesystem::file_size(machine.home() + "/large") == content.size());
    }

    TEST_CASE("an opening that is not for this guest reaches nobody")
    {
        const Resident machine;
        const auto opening = opening_of(machine.hello(), Operation::ping, "");
        CHECK(ended_as(machine.connect(machine.seal(opening)), ConnectorEnd::nobody_there));
        machine.upload(machine.config());
        REQUIRE(machine.reside().status == 0);
        CHECK(ended_as(machine.connect({}), ConnectorEnd::not_opened));
        auto changed = machine.seal(opening);
        changed.begin()->second.front() ^= 1; // still base64
        CHECK(ended_as(machine.connect(changed), ConnectorEnd::not_opened));
        auto other = machine.hello();
        other.generation = "g2";
        const auto refused = machine.connect(machine.seal(opening_of(other, Operation::ping, "")));
        CHECK(ended_as(refused, ConnectorEnd::answered));
        REQUIRE(refused.frames().size() == 1);
        CHECK(refused.frames().front().type == FrameType::error);
    }

    TEST_CASE("a guest that is resident is not started again")
    {
        const Resident machine;
        machine.upload(machine.config());
        REQUIRE(machine.reside().status == 0);
        const auto pid = machine.run(its_guest);
        CHECK(machine.reside().status == 0);
        machine.upload(machine.config());
        CHECK(machine.reside().status == 0);
        CHECK_FALSE(std::filesystem::exists(machine.folder() + "/config"));
        CHECK(machine.run(its_guest) == pid);
    }

    TEST_CASE("a guest of a later machine takes the place of the one that is there")
    {
        const Resident machine;
        machine.upload(machine.config());
        REQUIRE(machine.reside().status == 0);
        const auto pid = machine.run(its_guest);
        // What has left its session and its shell is below its shim all the same.
        const auto time = unlike_any(1);
        (void)machine.run("(setsid sleep " + time + " & setsid setsid sleep " + time +
                          " &) >&- 2>&-");
        REQUIRE(becomes_true([&] { return sleepers(time) == 2; }));
        SUBCASE("that lives") {}
        SUBCASE("that died, and has left its commands")
        {
            ::kill(std::stoi(pid), SIGKILL);
            CHECK(becomes_true([&] { return machine.connect(machine.seal("")).status == 4; }));
            CHECK(sleepers(time) == 2);
        }
        auto later = machine.config();
        later.generation = "g2";
        machine.upload(later);
        CHECK(machine.reside().status == 0);
        CHECK(sleepers(time) == 0);
        CHECK(ended_as(machine.connect(machine.seal("")), ConnectorEnd::not_opened));
        machine.upload(machine.config()); // for what ends it with the test
        CHECK(machine.reside().status == 0);
        CHECK(machine.run(its_guest) != pid);
    }

    TEST_CASE("who ends a machine ends what runs there, and nothing else")
    {
        const Resident machine;
        const Resident neighbour;
        machine.upload(machine.config());
        neighbour.upload(neighbour.config());
        REQUIRE(machine.reside().status == 0);
        REQUIRE(neighbour.reside().status == 0);
        (void)machine.run("(setsid sleep " + unlike_any(2) + " & sleep " + unlike_any(2) +
                          " &) >&- 2>&-");
        (void)neighbour.run("sleep " + unlike_any(3) + " >&- 2>&- &");
        CHECK(machine.evict().status == 0);
        CHECK(sleepers(unlike_any(2)) == 0);
        CHECK(ended_as(machine.connect(machine.seal("")), ConnectorEnd::nobody_there));
        CHECK(sleepers(unlike_any(3)) == 1);
        CHECK(neighbour.run("echo here") == "here\n0");
        CHECK(machine.evict().status == 0); // nobody is there
    }

    TEST_CASE("a guest that cannot reside says why, and leaves nothing")
    {
        const Resident machine;
        SUBCASE("without a configuration")
        {
            CHECK(has(machine.reside().error, "/config is not there"));
        }
        SUBCASE("for a user that is not there")
        {
            auto config = machine.config();
            config.user = "nobody-of-that-name";
            machine.upload(config);
            CHECK(has(machine.reside().error, "no user nobody-of-that-name"));
            config.user = "nor-of-that-one"; // of a later attempt the reason is its own
            machine.upload(config);
            CHECK(has(machine.reside().error, "no user nor-of-that-one"));
            CHECK(has(machine.reside().error, "no user nor-of-that-one"));
        }
        SUBCASE("with a home that it may not make")
        {
            auto config = machine.config();
            config.home = machine.folder() + "/home";
            machine.upload(config);
            const auto said = machine.reside().error;
            CHECK(has(said, "the guest did not start: berth-guest: make "));
            CHECK(machine.reside().error == said); // whoever got no answer asks again
        }
        SUBCASE("in another's folder")
        {
            machine.upload(machine.config());
            REQUIRE(::chown(machine.folder().c_str(), 65534, 65534) == 0);
            CHECK(has(machine.reside().error, "belongs to another user"));
        }
        CHECK(ended_as(machine.connect(machine.seal("")), ConnectorEnd::nobody_there));
    }
}
