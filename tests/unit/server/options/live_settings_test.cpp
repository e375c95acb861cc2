#include "server/options/live_settings.hpp"
#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

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
            [this](const LiveSettings::Change& change) { changes.push_back(change); });
    }

    /// Asks as calls do, until `condition` holds.
    bool until(const std::function<bool()>& condition)
    {
        for (int tries = 0; tries < 100 && !condition(); ++tries) {
            (void)settings->tools();
            std::this_thread::sleep_for(50ms);
        }
        return condition();
    }

    bool is_told()
    {
        return until([this] { return !changes.empty(); });
    }

    std::unique_ptr<LiveSettings> settings;
    std::vector<LiveSettings::Change> changes;
};

} // namespace

TEST_CASE("what the tools take from the settings file holds soon after it has changed")
{
    Live live("[read]\nlimit = 10\n");
    CHECK(live.settings->tools()->read_limit == 10);
    live.file("env = [\"A=1\"]\n[read]\nlimit = 20\n[local]\npids = 99\n");
    REQUIRE(live.is_told());
    CHECK(live.changes.front().in_force == "env, read.limit");
    CHECK(live.changes.front().later == "local.pids");
    CHECK(live.changes.front().error.empty());
    CHECK(has(live.changes.front().file, "berth.toml"));
    const auto now = live.settings->tools();
    CHECK(now->read_limit == 20);
    CHECK(now->command_variables().at("A") == "1");
    std::this_thread::sleep_for(1100ms);
    (void)live.settings->tools();
    CHECK(live.changes.size() == 1); // each state is told once
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
    const auto now = live.settings->tools();
    CHECK(now->read_limit == 10);
    CHECK(now->command_variables().count("TOKEN") == 0);
}

TEST_CASE("what was said otherwise holds over a file that changes")
{
    Live live("[read]\nlimit = 10\n");
    live.variables["BERTH_READ_LIMIT"] = "7";
    live.file("[read]\nlimit = 30\nbudget = 2000\n");
    REQUIRE(live.is_told());
    CHECK(live.settings->tools()->read_limit == 7);
    CHECK(live.settings->tools()->read_budget == 2000);
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
    CHECK(live.settings->tools()->read_limit == 10);
    live.file("[read]\nlimt = 20\n");
    REQUIRE(wait_for(2));
    CHECK(has(live.changes.back().error, "unknown setting \"read.limt\""));
    ::unlink((live.directory + "/berth.toml").c_str());
    REQUIRE(wait_for(3));
    CHECK(has(live.changes.back().error, "gone"));
    CHECK(live.settings->tools()->read_limit == 10);
    live.file("[read]\nlimit = 30\n");
    REQUIRE(wait_for(4));
    CHECK(live.changes.back().in_force == "read.limit");
    CHECK(live.settings->tools()->read_limit == 30);
}

TEST_CASE("a file that is empty for a moment is none without settings")
{
    Live live("[read]\nlimit = 10\n");
    std::this_thread::sleep_for(1100ms); // the next look is due
    live.file("");
    CHECK(live.settings->tools()->read_limit == 10);
    live.file("[read]\nlimit = 20\n");
    REQUIRE(live.is_told());
    CHECK(live.changes.size() == 1);
    CHECK(live.settings->tools()->read_limit == 20);
}
