#include "server/cli/print.hpp"
#include "server/cli/reports.hpp"
#include "tests/unit/captured.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>

#include <unistd.h>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test
using berth::tests::captured;
using nlohmann::json;

namespace {

const std::vector<Check> checks{{"userns", true, "works", ""},
                                {"cgroup-memory", false, "not here", "delegate it"},
                                {"netns", false, "no", ""}};

struct Fixture {
    berth::tests::TemporaryDirectory directory;
    session::SessionManager sessions = make();

    [[nodiscard]] session::SessionManager make() const
    {
        session::Settings settings;
        settings.state_directory = directory / "state";
        return {settings, std::make_shared<berth::tests::FakeBackend>(directory / "machines")};
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

TEST_CASE("the doctor's status tells whether a machine could be made and held, whatever was probed")
{
    for (const bool as_json : {false, true}) {
        (void)captured(STDOUT_FILENO, [&] {
            const sandbox::Availability available{.available = true, .reason = {}, .remedy = {}};
            CHECK(cli::show_checks({{"create", false, "no", ""}}, available, as_json) == 1);
            CHECK(cli::show_checks({{"attempts", false, "no", ""}}, available, as_json) == 1);
            CHECK(cli::show_checks({{"attempts", true, "", ""}}, available, as_json) == 0);
            CHECK(cli::show_checks({{"uid", false, "no", ""}}, available, as_json) == 0);
        });
    }
}

TEST_CASE_FIXTURE(Fixture, "sessions are listed")
{
    CHECK(captured(STDOUT_FILENO, [&] { (void)cli::tell(cli::list_sessions(sessions), false); }) ==
          "no sessions\n");
    const session::SessionId work{"ann", "work", {}};
    (void)sessions.acquire(work);
    const auto text = captured(STDOUT_FILENO,
                               [&] { CHECK(cli::tell(cli::list_sessions(sessions), false) == 0); });
    CHECK(text.find("work     ann        fake     running") != std::string::npos);
    const auto list = json::parse(
        captured(STDOUT_FILENO, [&] { (void)cli::tell(cli::list_sessions(sessions), true); }));
    CHECK(list[0]["session"] == "work");
    CHECK(list[0]["state"] == "running");
    // Whether it is paused only the guest knows.
    CHECK(text.find("\nNot known whether running or paused, since the guest did not tell: work (a "
                    "fake machine has no guest)\n") != std::string::npos);
    CHECK(list[0]["trouble"] == "a fake machine has no guest");
    // Of one principal alone.
    CHECK(cli::list_sessions(sessions, "ann").data->size() == 1);
    const auto none = cli::list_sessions(sessions, "bob");
    CHECK(none.data->empty());
    CHECK(none.text == "no sessions of bob");
    CHECK(sessions.kill(work, false));
    CHECK(captured(STDOUT_FILENO, [&] {
              (void)cli::tell(cli::list_sessions(sessions), false);
          }).find("Not known") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "what reaches a session of another template can be pasted")
{
    const session::SessionId other{"ann", "work", "of a template"};
    (void)sessions.acquire(other);
    const session::SessionId asked{"ann", "work", {}};
    const auto key = session::key_hash(other);
    CHECK(cli::advice_on_missing(sessions, asked, "adopt", " --session 'new'") ==
          "One of that name was made with another session.key or --var: `berth sessions adopt " +
              key + " --session 'new'` reaches it.");
    CHECK(
        cli::advice_on_missing(sessions, asked, "show").ends_with("show " + key + "` reaches it."));
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

    CHECK(text.find("  flag --network  ") != std::string::npos);
    CHECK(text.find("  host\n") != std::string::npos);

    given.values["state_dir"] = {.items = {"/a\u202egnp"}, .origin = "file /x\u202ey"};
    const auto odd = make_options(given, [](const std::string&) { return std::nullopt; });
    const auto shown = captured(STDOUT_FILENO, [&] { (void)cli::show_config(odd, false); });
    CHECK(shown.find("/a\\u202egnp") != std::string::npos);
    CHECK(shown.find("\u202e") == std::string::npos);
}

TEST_CASE("settings are told in lines that a terminal has room for")
{
    std::string paths;
    for (int i = 0; i < 40; ++i) {
        paths += (i == 0 ? "" : ",") + ("~/.config/tool-" + std::to_string(i));
    }
    const std::string one_path = "/srv/" + std::string(200, 'x');
    const auto text = cli::config_text({{"network", "none", "default"},
                                        {"protected.paths", paths, "default"},
                                        {"secret", "", "default"},
                                        {"workspace", one_path, "flag --workspace"}});
    CHECK(text.starts_with("network          default           none\n"
                           "protected.paths  default           ~/.config/tool-0,~/.config/tool-1"));
    CHECK(text.find(",\n                                   ~/.config/tool-3,") !=
          std::string::npos);
    CHECK(text.find("\nsecret           default           -\n") != std::string::npos);
    std::size_t longest = 0;
    std::string joined;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find('\n', at);
        const auto line = text.substr(at, end - at);
        at = end + 1;
        if (!line.ends_with(one_path)) { // which has no place to break at
            longest = std::max(longest, line.size());
        }
        joined += line.substr(35);
    }
    CHECK(longest <= 95);
    CHECK(joined == "none" + paths + "-" + one_path);
}
