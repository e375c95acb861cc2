#include "sandbox/base/error.hpp"
#include "server/options/live_settings.hpp"
#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::server;
using berth::server::tests::Bench;
using berth::server::tests::has;
using namespace std::chrono_literals;

namespace {

struct Live : Bench {
    explicit Live(const std::string& text)
    {
        file(text);
        const auto environment = [this](const std::string& name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
        };
        settings = std::make_unique<LiveSettings>(
            given, environment, make(),
            [this](const LiveSettings::Change& change) { changes.push_back(change); },
            [this](const Options& options) {
                ++checks;
                if (options.sessions.limits.pids == refused_pids) {
                    throw Error(ErrorCode::sandbox_unavailable, "not with so many", "take fewer");
                }
            });
    }

    /// Asks as calls do, until `condition` holds.
    bool until(const std::function<bool()>& condition)
    {
        for (int tries = 0; tries < 100 && !condition(); ++tries) {
            (void)settings->options();
            std::this_thread::sleep_for(50ms);
        }
        return condition();
    }

    bool is_told()
    {
        return until([this] { return !changes.empty(); });
    }

    static constexpr std::uint32_t refused_pids = 77;
    int checks = 0;
    std::unique_ptr<LiveSettings> settings;
    std::vector<LiveSettings::Change> changes;
};

} // namespace

TEST_CASE("what the tools take from the settings file holds soon after it has changed")
{
    Live live("[read]\nlimit = 10\n");
    CHECK(live.settings->options()->tools.read_limit == 10);
    live.file("env = [\"A=1\"]\n[read]\nlimit = 20\n[request]\nmax = \"1MiB\"\n");
    REQUIRE(live.is_told());
    CHECK(live.changes.front().in_force == "env, read.limit");
    CHECK(live.changes.front().later == "request.max");
    CHECK(live.changes.front().error.empty());
    CHECK(has(live.changes.front().file, "berth.toml"));
    const auto now = live.settings->options();
    CHECK(now->tools.read_limit == 20);
    CHECK(now->tools.command_variables().at("A") == "1");
    CHECK(now->message_limit == 32UL * 1024 * 1024);
    std::this_thread::sleep_for(1100ms);
    CHECK(live.settings->options() == now);
    CHECK(live.changes.size() == 1); // each state is told once
    CHECK(live.checks == 1);         // variables are judged together with what is mounted
    live.file("env = [\"A=1\"]\n[read]\nlimit = 30\n[request]\nmax = \"1MiB\"\n");
    REQUIRE(live.until([&] { return live.changes.size() == 2; }));
    CHECK(live.checks == 1); // and the others are not
    CHECK(live.settings->options()->tools.command_variables().at("A") == "1");
}

TEST_CASE("a secret that commands had before the file changed is kept out of results still")
{
    Live live("secret = [\"TOKEN=env:OLD\"]\n");
    live.variables["OLD"] = "the old one";
    live.variables["NEW"] = "the new one";
    const auto first = live.settings->options();
    CHECK(first->tools.command_variables().at("TOKEN") == "the old one");
    live.file("secret = [\"TOKEN=env:NEW\"]\n");
    REQUIRE(live.is_told());
    CHECK(live.settings->options()->tools.secrets() ==
          std::vector<tools::Secret>{{"TOKEN", "the old one"}, {"TOKEN", "the new one"}});
    live.file("[read]\nlimit = 20\n");
    REQUIRE(live.until([&] { return live.changes.size() == 2; }));
    const auto without = live.settings->options();
    CHECK(without->tools.command_variables().empty());
    REQUIRE(without->tools.secrets);
    CHECK(without->tools.secrets() == without->tools.known_secrets());
    CHECK(without->tools.secrets().size() == 2);
    // And of a call that was at work meanwhile, with what was in force when it began.
    live.variables["OLD"] = "read late";
    CHECK(first->tools.command_variables().at("TOKEN") == "read late");
    CHECK(without->tools.known_secrets().back() == tools::Secret{"TOKEN", "read late"});
}

TEST_CASE("what machines are made with changes too, and what they are found by does not")
{
    Live live("[local]\npids = 10\n");
    const auto before = live.settings->options();
    live.file("backend = \"e2b\"\nprincipal = \"eve\"\n"
              "[local]\npids = 99\n[session]\nkey = \"{profile}\"\nhost = \"other\"\n");
    REQUIRE(live.is_told());
    CHECK(live.changes.front().error.empty());
    CHECK(live.changes.front().in_force == "local.pids");
    CHECK(live.changes.front().later == "backend, principal, session.host, session.key");
    CHECK(live.checks == 1);
    const auto now = live.settings->options();
    CHECK(now->sessions.limits.pids == 99);
    CHECK(now->sessions.asked.contains("local.pids"));
    CHECK(now->sessions.state_directory == before->sessions.state_directory);
    CHECK(now->backend == "local");
    CHECK(now->session.principal == before->session.principal);
}

TEST_CASE("what no machine could be made with holds in no part")
{
    Live live("[read]\nlimit = 10\n");
    live.file("[read]\nlimit = 20\n[local]\npids = 77\n");
    REQUIRE(live.is_told());
    CHECK(live.changes.front().error == "not with so many");
    CHECK(live.changes.front().hint == "take fewer");
    CHECK(live.settings->options()->tools.read_limit == 10);
    CHECK(live.settings->options()->sessions.limits.pids != 77);
}

TEST_CASE(
    "a folder that has gone since is no matter of the tools, but one that is asked for now is")
{
    Live live("");
    const auto folder = live.directory + "/folder";
    REQUIRE(::mkdir(folder.c_str(), 0755) == 0);
    live.file("mount = [\"" + folder + ":/mnt/folder\"]\n");
    REQUIRE(live.is_told());
    CHECK(live.settings->options()->sessions.mounts.size() == 1);
    REQUIRE(::rmdir(folder.c_str()) == 0);
    live.file("mount = [\"" + folder + ":/mnt/folder\"]\n[read]\nlimit = 20\n");
    REQUIRE(live.until([&] { return live.changes.size() == 2; }));
    CHECK(live.changes.back().in_force == "read.limit");
    CHECK(live.settings->options()->sessions.mounts.size() == 1);
    live.file("mount = [\"" + folder + ":/mnt/other\"]\n[read]\nlimit = 30\n");
    REQUIRE(live.until([&] { return live.changes.size() == 3; }));
    CHECK(has(live.changes.back().error, "No such file"));
    CHECK(live.settings->options()->tools.read_limit == 20);
}

TEST_CASE("what was refused for something beside the file is tried again, and told once")
{
    Live live("[read]\nlimit = 10\n");
    const auto folder = live.directory + "/folder";
    live.file("mount = [\"" + folder + ":/mnt/folder\"]\n[read]\nlimit = 20\n");
    REQUIRE(live.is_told());
    CHECK(has(live.changes.back().error, "No such file"));
    std::this_thread::sleep_for(6s); // it is tried again
    (void)live.settings->options();
    CHECK(live.changes.size() == 1);
    CHECK(live.settings->options()->tools.read_limit == 10);
    REQUIRE(::mkdir(folder.c_str(), 0755) == 0);
    for (int tries = 0; tries < 300 && live.changes.size() == 1; ++tries) {
        (void)live.settings->options();
        std::this_thread::sleep_for(100ms);
    }
    REQUIRE(live.changes.size() == 2);
    CHECK(live.changes.back().error.empty());
    CHECK(live.changes.back().in_force == "mount, read.limit");
    CHECK(live.settings->options()->sessions.mounts.size() == 1);
}

TEST_CASE(
    "what holds from the next start is told with the change that holds, not with a refused one")
{
    Live live("");
    live.file("[request]\nmax = \"1MiB\"\n[local]\npids = 77\n");
    REQUIRE(live.is_told());
    CHECK(live.changes.back().error == "not with so many");
    live.file("[request]\nmax = \"1MiB\"\n[local]\npids = 78\n");
    REQUIRE(live.until([&] { return live.changes.size() == 2; }));
    CHECK(live.changes.back().in_force == "local.pids");
    CHECK(live.changes.back().later == "request.max");
}

TEST_CASE("a file that was refused is not read while it is being written anew")
{
    Live live("[read]\nlimit = 10\n");
    live.file("network = \"nonsense\"\n[read]\nlimit = 20\n");
    REQUIRE(live.is_told());
    live.file("");
    for (int tries = 0; tries < 80; ++tries) { // longer than until it is tried again
        CHECK(live.settings->options()->tools.read_limit == 10);
        std::this_thread::sleep_for(100ms);
    }
    CHECK(live.changes.size() == 1);
    live.file("[read]\nlimit = 30\n");
    REQUIRE(live.until([&] { return live.changes.size() == 2; }));
    CHECK(live.settings->options()->tools.read_limit == 30);
}

TEST_CASE("what the file said is there for others as long as it holds")
{
    Live live("[read]\nlimit = 10\n");
    const auto limit = [&] {
        const auto file = live.settings->options()->file;
        const auto found = file->find("read.limit");
        return found == file->end() ? std::string() : found->second.items.front();
    };
    CHECK(limit() == "10");
    live.file("[read]\nlimit = 20\n");
    CHECK(live.until([&] { return limit() == "20"; }));
    live.file("[read]\nlimit = \n");
    REQUIRE(live.until([&] { return live.changes.size() == 2; }));
    CHECK(limit() == "20");
    live.given.file = live.settings->options()->file;
    CHECK(live.make().tools.read_limit == 20);
}

TEST_CASE("a server keeps the profile that it was started with, whatever the file names later")
{
    const std::string profiles = "[profiles.ci]\nread.limit = 10\nlocked = [\"read.limit\"]\n"
                                 "[profiles.other]\nread.limit = 20\nenv = [\"TOKEN=x\"]\n";
    Live live("profile = \"ci\"\n" + profiles);
    live.file("profile = \"other\"\nread.budget = 2000\n" + profiles);
    REQUIRE(live.is_told());
    CHECK(live.changes.front().in_force == "read.budget");
    CHECK(live.changes.front().later == "profile");
    const auto now = live.settings->options();
    CHECK(now->profile == "ci");
    CHECK(now->tools.read_limit == 10);
    CHECK(now->tools.command_variables().count("TOKEN") == 0);
}

TEST_CASE("what was said otherwise holds over a file that changes")
{
    Live live("[read]\nlimit = 10\n");
    live.variables["BERTH_READ_LIMIT"] = "7";
    live.file("[read]\nlimit = 30\nbudget = 2000\n");
    REQUIRE(live.is_told());
    CHECK(live.settings->options()->tools.read_limit == 7);
    CHECK(live.settings->options()->tools.read_budget == 2000);
}

TEST_CASE("a file that is wrong, or gone, changes nothing, and one that is right again does")
{
    Live live("[read]\nlimit = 10\n");
    const auto wait_for = [&](std::size_t count) {
        return live.until([&] { return live.changes.size() == count; });
    };
    live.file("[read]\nlimit = \n");
    REQUIRE(wait_for(1));
    CHECK(has(live.changes.back().error, "berth.toml:2"));
    CHECK(live.settings->options()->tools.read_limit == 10);
    live.file("[read]\nlimt = 20\n");
    REQUIRE(wait_for(2));
    CHECK(has(live.changes.back().error, "unknown setting \"read.limt\""));
    ::unlink((live.directory + "/berth.toml").c_str());
    REQUIRE(wait_for(3));
    CHECK(has(live.changes.back().error, "gone"));
    CHECK(live.settings->options()->tools.read_limit == 10);
    live.file("[read]\nlimit = 30\n");
    REQUIRE(wait_for(4));
    CHECK(live.changes.back().in_force == "read.limit");
    CHECK(live.settings->options()->tools.read_limit == 30);
}

TEST_CASE("a file that is empty for a moment is none without settings")
{
    Live live("[read]\nlimit = 10\n");
    std::this_thread::sleep_for(1100ms); // the next look is due
    live.file("");
    CHECK(live.settings->options()->tools.read_limit == 10);
    live.file("[read]\nlimit = 20\n");
    REQUIRE(live.is_told());
    CHECK(live.changes.size() == 1);
    CHECK(live.settings->options()->tools.read_limit == 20);
}
