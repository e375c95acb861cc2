#include "server/cli/print.hpp"
#include "server/cli/reports.hpp"
#include "tests/unit/captured.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>

#include <unistd.h>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test
using nlohmann::json;
using tests::captured;

namespace {

const std::vector<Check> checks{{"userns", true, "works", ""},
                                {"cgroup-memory", false, "not here", "delegate it"},
                                {"netns", false, "no", ""}};

struct Fixture {
    tests::TemporaryDirectory directory;
    session::SessionManager sessions = make();

    [[nodiscard]] session::SessionManager make() const
    {
        session::Settings settings;
        settings.state_directory = directory / "state";
        return {settings, std::make_shared<tests::FakeBackend>(directory / "machines")};
    }
};

} // namespace

TEST_CASE("what is required and missing is told with its remedy")
{
    CHECK(cli::missing_layers({}, checks).empty());
    CHECK(cli::missing_layers({"userns"}, checks).empty());
    CHECK(cli::missing_layers({"userns", "cgroup-memory", "netns", "nonsense"}, checks) ==
          "\n  cgroup-memory: not here; remedy: delegate it\n  netns: no\n  nonsense: this build "
          "has no layer of that name");
}

TEST_CASE("the doctor's findings, and its status")
{
    int status = -1;
    const auto text = captured(STDOUT_FILENO, [&] {
        status = cli::show_checks(checks, {.available = true, .reason = {}, .remedy = {}}, false);
    });
    CHECK(status == 0);
    CHECK(text.find("ok       userns         works\n") != std::string::npos);
    CHECK(text.find("remedy: delegate it\n") != std::string::npos);
    const auto odd = captured(STDOUT_FILENO, [&] {
        (void)cli::show_checks({{"netns", false, "/a\u009b2J", "rm /b\u202e"}},
                               {.available = true, .reason = {}, .remedy = {}}, false);
    });
    CHECK(odd == "MISSING  netns  /a\\u009b2J\n                remedy: rm /b\\u202e\n");
    const auto err = captured(STDERR_FILENO, [&] {
        (void)captured(STDOUT_FILENO,
                       [&] { status = cli::show_checks({}, {false, "why", "line"}, false); });
    });
    CHECK(status == 1);
    CHECK(err == "berth: no sandbox can be made: why\nline\n");
    const auto parsed = json::parse(captured(
        STDOUT_FILENO, [&] { status = cli::show_checks(checks, {false, "why", "line"}, true); }));
    CHECK(status == 1);
    CHECK(parsed["checks"][1] == json::parse(R"({"name":"cgroup-memory","ok":false,)"
                                             R"("detail":"not here","remedy":"delegate it"})"));
    CHECK(parsed["remedy"] == "line");
}

TEST_CASE("one remedy for several checks is told once, behind the last of them")
{
    const auto text = captured(STDOUT_FILENO, [&] {
        (void)cli::show_checks({{"a", false, "no a", "mend it"},
                                {"b", true, "works", "mend it"},
                                {"c", false, "no c", "mend it"},
                                {"d", false, "no d", "mend d"}},
                               {.available = true, .reason = {}, .remedy = {}}, false);
    });
    CHECK(text.find("remedy: mend it") == std::string::npos);
    CHECK(text.find("remedy for a, c: mend it\n") > text.find("no c"));
    CHECK(text.find("remedy for a, c") == text.rfind("mend it") - 17);
    CHECK(text.find("remedy: mend d\n") != std::string::npos);
}

TEST_CASE("the doctor's status tells whether a machine could be made, whatever the probe said")
{
    for (const bool as_json : {false, true}) {
        (void)captured(STDOUT_FILENO, [&] {
            const sandbox::Availability available{.available = true, .reason = {}, .remedy = {}};
            CHECK(cli::show_checks({{"create", false, "no", ""}}, available, as_json) == 1);
            CHECK(cli::show_checks({{"uid", false, "no", ""}}, available, as_json) == 0);
        });
    }
}

TEST_CASE_FIXTURE(Fixture, "sessions are listed and ended")
{
    CHECK(captured(STDOUT_FILENO, [&] { (void)cli::list_sessions(sessions, false); }) ==
          "no sessions\n");
    const session::SessionId work{"ann", "work", {}};
    (void)sessions.acquire(work);
    const auto text =
        captured(STDOUT_FILENO, [&] { CHECK(cli::list_sessions(sessions, false) == 0); });
    CHECK(text.find("work     ann        fake     running") != std::string::npos);
    const auto list =
        json::parse(captured(STDOUT_FILENO, [&] { (void)cli::list_sessions(sessions, true); }));
    CHECK(list[0]["session"] == "work");
    CHECK(list[0]["state"] == "running");
    CHECK(captured(STDOUT_FILENO, [&] {
              CHECK(cli::kill_session(sessions, work, "work", false, false) == 0);
          }) == "session work has ended\n");
    const auto err = captured(STDERR_FILENO, [&] {
        CHECK(cli::kill_session(sessions, {"ann", "none", {}}, "none", false, false) == 1);
    });
    CHECK(err.starts_with("berth: there is no session \"none\" of ann\n"));
    CHECK(err.find("`berth sessions list`") != std::string::npos);
    const auto told = json::parse(captured(STDOUT_FILENO, [&] {
        CHECK(cli::kill_session(sessions, {"ann", "none", {}}, "none", false, true) == 1);
    }));
    CHECK(told["killed"] == false);
    CHECK(told["reason"] == "there is no session \"none\" of ann");
    CHECK(told["remedy"].get<std::string>().find("`berth sessions list`") != std::string::npos);
    const auto again = captured(STDERR_FILENO, [&] {
        CHECK(cli::kill_session(sessions, work, "work", false, false) == 1); // it has ended
    });
    CHECK(again.starts_with("berth: session work has ended already; its home is kept\n"));
    CHECK(again.find("--purge removes it") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a session that has ended is told as that by whatever names it")
{
    const session::SessionId work{"ann", "work", {}};
    (void)sessions.acquire(work);
    const auto shown = sessions.facts(work).sandbox_id;
    REQUIRE(sessions.kill(work, false));
    for (const auto& name : {shown, session::key_hash(work)}) {
        const auto told = json::parse(captured(STDOUT_FILENO, [&] {
            CHECK(cli::kill_session(sessions, {"ann", name, {}}, name, false, true) == 1);
        }));
        CHECK(told["killed"] == false);
        CHECK(told["reason"] == "session " + name + " has ended already; its home is kept");
    }
    (void)captured(STDOUT_FILENO,
                   [&] { CHECK(cli::kill_session(sessions, work, "work", true, false) == 0); });
    CHECK(captured(STDERR_FILENO, [&] {
              (void)cli::kill_session(sessions, work, "work", false, false);
          }).find("there is no session") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a session of another session.key is ended by what the list shows")
{
    const session::SessionId before{"ann", "work", "another key"};
    const session::SessionId now{"ann", "work", {}};
    (void)sessions.acquire(before);
    const auto err = captured(
        STDERR_FILENO, [&] { CHECK(cli::kill_session(sessions, now, "work", true, false) == 1); });
    const auto list =
        json::parse(captured(STDOUT_FILENO, [&] { (void)cli::list_sessions(sessions, true); }));
    REQUIRE(list.size() == 1);
    const auto key = list[0].value("key", "");
    CHECK(key == session::key_hash(before));
    CHECK(err.find("session.key") != std::string::npos);
    CHECK(err.find("`berth sessions kill " + key + "`") != std::string::npos);
    const auto shown = list[0]["sandbox_id"].get<std::string>();
    const auto text = captured(STDOUT_FILENO, [&] {
        CHECK(cli::kill_session(sessions, {"ann", shown, {}}, shown, true, false) == 0);
    });
    CHECK(text == "session " + shown + " has ended\n");
    CHECK(sessions.list().empty());
}

TEST_CASE_FIXTURE(Fixture, "a name cannot turn the line it is told in around")
{
    const session::SessionId odd{"ann\u202e", "work\u202egnp", {}};
    const auto kill = [&] { (void)cli::kill_session(sessions, odd, odd.session, false, false); };
    const auto refused = captured(STDERR_FILENO, kill);
    (void)sessions.acquire(odd);
    const auto ended = captured(STDOUT_FILENO, kill);
    CHECK(refused.find("there is no session") != std::string::npos);
    CHECK(ended.find("has ended") != std::string::npos);
    for (const auto& text : {refused, ended}) {
        CHECK(text.find("\u202e") == std::string::npos);
        CHECK(text.find(cli::one_line(odd.session)) != std::string::npos);
    }
}

TEST_CASE("the settings in force and where each came from")
{
    Given given;
    given.values["network"] = {.items = {"host"}, .origin = "flag --network"};
    const auto options = make_options(given, [](const std::string&) { return std::nullopt; });
    const auto parsed =
        json::parse(captured(STDOUT_FILENO, [&] { (void)cli::show_config(options, true); }));
    CHECK(parsed["network"] == json::parse(R"({"value":"host","origin":"flag --network"})"));
    CHECK(parsed["exec.timeout"]["origin"] == "default");
    const auto text = captured(STDOUT_FILENO, [&] { (void)cli::show_config(options, false); });
    CHECK(text.find("host ") != std::string::npos);
    CHECK(text.find("flag --network\n") != std::string::npos);

    given.values["state_dir"] = {.items = {"/a\u202egnp"}, .origin = "file /x\u202ey"};
    const auto odd = make_options(given, [](const std::string&) { return std::nullopt; });
    const auto shown = captured(STDOUT_FILENO, [&] { (void)cli::show_config(odd, false); });
    CHECK(shown.find("/a\\u202egnp") != std::string::npos);
    CHECK(shown.find("\u202e") == std::string::npos);
}
