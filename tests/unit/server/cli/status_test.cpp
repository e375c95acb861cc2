#include "server/cli/status.hpp"
#include "server/recent_errors.hpp"
#include "tests/unit/captured.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test
using nlohmann::json;

namespace {

struct Fixture {
    berth::tests::TemporaryDirectory directory;
    std::string state;
    Options options = make();
    std::shared_ptr<berth::tests::FakeBackend> backend =
        std::make_shared<berth::tests::FakeBackend>(directory / "machines");
    session::SessionManager sessions{options.sessions, backend};
    int exit_status = -1;

    explicit Fixture(std::string name = "state") : state(std::move(name)) {}

    [[nodiscard]] Options make() const
    {
        Given given;
        given.values["state_dir"] = {.items = {directory / state}, .origin = "test"};
        return make_options(given, [](const std::string&) { return std::nullopt; });
    }

    std::string show(bool as_json)
    {
        return berth::tests::captured(STDOUT_FILENO, [&] {
            exit_status = cli::tell(cli::show_status(sessions, options), as_json);
        });
    }
};

} // namespace

TEST_SUITE("server/cli/status")
{
    TEST_CASE_FIXTURE(Fixture, "a host where nothing ever ran; asking makes nothing")
    {
        const auto status = json::parse(show(true));
        CHECK(exit_status == 0);
        CHECK(status["available"] == true);
        CHECK(status["sessions"] == 0);
        CHECK(status["active_sessions"] == 0);
        CHECK(status["jobs"].empty());
        CHECK(status["recent_errors"].empty());
        CHECK(status["limits"]["pids"] == 512);
        const auto text = show(false);
        CHECK(text.find("sessions   0 running, 0 known\n") != std::string::npos);
        CHECK(text.find("errors     none lately\n") != std::string::npos);
        CHECK(backend->count("create") == 0);
        CHECK_FALSE(std::filesystem::exists(directory / "state"));
    }

    TEST_CASE_FIXTURE(Fixture, "a machine whose guest is silent is told, not left out")
    {
        (void)sessions.acquire({"ann", "work", {}});
        const auto status = json::parse(show(true));
        CHECK(status["active_sessions"] == 1);
        CHECK(status["silent_sessions"][0] ==
              json::parse(R"({"session":"work","principal":"ann",)"
                          R"("reason":"a fake machine has no guest"})"));
        CHECK(show(false).find("work    a fake machine has no guest") != std::string::npos);
        CHECK(sessions.kill({"ann", "work", {}}, false));
        CHECK(json::parse(show(true))["active_sessions"] == 0);
        CHECK(json::parse(show(true))["sessions"] == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "where errors could not be kept it is not said that there were none")
    {
        (void)sessions.acquire({"ann", "work", {}});
        CHECK(json::parse(show(true))["unkept_errors"] == "");
        std::ofstream(directory / "state/errors.unkept").flush();
        const auto at = json::parse(show(true))["unkept_errors"].get<std::string>();
        CHECK(at.size() == std::string_view("2027-01-15T08:00:00Z").size());
        CHECK(show(false).find("\nerrors     none kept\n           some could not be kept, the "
                               "last one at " +
                               at) != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "recent errors are shown on one line each")
    {
        (void)sessions.acquire({"ann", "work", {}});
        remember_error(options.sessions.state_directory,
                       {.time = std::chrono::system_clock::from_time_t(1'800'000'000),
                        .code = "session_lost",
                        .tool = "bash_exec",
                        .session = "work",
                        .message = "gone\nerrors     none lately"});
        CHECK(json::parse(show(true))["recent_errors"][0]["code"] == "session_lost");
        const auto text = show(false);
        CHECK(text.find("2027-01-15T08:00:00Z  session_lost  bash_exec  work  gone") !=
              std::string::npos);
        CHECK(text.find("\nerrors     none lately") == std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "of the errors the latest fifty are told")
    {
        (void)sessions.acquire({"ann", "work", {}});
        for (int number = 0; number < 60; ++number) {
            remember_error(options.sessions.state_directory,
                           {.time = std::chrono::system_clock::from_time_t(1'800'000'000 + number),
                            .code = "session_lost",
                            .tool = "bash_exec",
                            .session = "work",
                            .message = std::to_string(number)});
        }
        const auto errors = json::parse(show(true))["recent_errors"];
        REQUIRE(errors.size() == 50);
        CHECK(errors[0]["message"] == "59");
        CHECK(errors[49]["message"] == "10");
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that was lost is told among the errors, once")
    {
        const session::SessionId work{"ann", "work", {}};
        (void)session::SessionManager(options.sessions, backend).acquire(work);
        options.sessions.on_lost = lost_machines_reporter(options.sessions.state_directory);
        session::SessionManager manager(options.sessions, backend);
        std::filesystem::remove(backend->alive(session::key_hash(work)));
        for (int i = 0; i < 2; ++i) {
            const auto text = berth::tests::captured(
                STDOUT_FILENO, [&] { (void)cli::tell(cli::show_status(manager, options), false); });
            CHECK(text.find("Z  session_lost  -  work  the sandbox was lost: ") !=
                  std::string::npos);
        }
        CHECK(json::parse(show(true))["recent_errors"].size() == 1);
        (void)manager.acquire(work);
        CHECK(manager.kill(work, false));
        CHECK(json::parse(show(true))["recent_errors"].size() == 1);
    }

    TEST_CASE("nothing of what is shown moves a terminal's cursor")
    {
        Fixture odd("state\u009b2J");
        (void)odd.sessions.acquire({"ann", "work\u009b2J", {}});
        remember_error(odd.options.sessions.state_directory,
                       {.time = std::chrono::system_clock::from_time_t(1'800'000'000),
                        .code = "session_lost",
                        .tool = "bash_exec",
                        .session = "late\u202e",
                        .message = "gone"});
        auto text = odd.show(false);
        for (const char* shown :
             {"/state\\u009b2J\n", "silent  work\\u009b2J ", "bash_exec  late\\u202e  gone"}) {
            CAPTURE(shown);
            CHECK(text.find(shown) != std::string::npos);
        }
        odd.backend->available = false;
        odd.backend->reason = "/a\u009b is not ours";
        odd.backend->remedy = "rm /a\x1b[2J";
        text += odd.show(false);
        CHECK(text.find("why not    /a\\u009b is not ours\nremedy     rm /a\\x1b[2J\n") !=
              std::string::npos);
        for (const char* raw : {"\u009b", "\u202e", "\x1b"}) {
            CHECK(text.find(raw) == std::string::npos);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "where no sandbox can be made the status says why and what helps")
    {
        backend->available = false;
        const auto text = show(false);
        CHECK(exit_status == 1);
        CHECK(text.find("available  no\nwhy not    no fakes here\nremedy     allow fakes\n") !=
              std::string::npos);
        CHECK(json::parse(show(true))["reason"] == "no fakes here");
        // The books can be read all the same.
        CHECK(text.find("sessions   0 running, 0 known\n") != std::string::npos);
        CHECK(json::parse(show(true))["sessions_known"] == true);
    }

    TEST_CASE_FIXTURE(Fixture, "of a state directory that is refused nothing is said to be known")
    {
        const std::string path = directory / "state";
        const std::string why = "the state directory " + path + " may be written to by other users";
        (void)sessions.acquire({"ann", "work", {}});
        std::filesystem::permissions(path, std::filesystem::perms::group_write,
                                     std::filesystem::perm_options::add);
        const auto told = [&] {
            const auto text = show(false);
            CAPTURE(text);
            CHECK(exit_status == 1);
            CHECK(text.find("\nsessions   not known: " + why + '\n') != std::string::npos);
            CHECK(text.find("\nerrors     not known, cannot be read: " + why + '\n') !=
                  std::string::npos);
            CHECK(text.find(" known\n") == std::string::npos);
            const auto status = json::parse(show(true));
            CHECK(status["sessions_known"] == false);
            CHECK(status["unread_errors"] == why);
            return std::pair(text, status["reason"].get<std::string>());
        };
        CHECK(told().second == why);
        backend->available = false;
        CHECK(told().second == "no fakes here; sessions not known: " + why);
        backend->reason = why;
        backend->remedy = "run chmod";
        const auto [text, reason] = told();
        CHECK(reason == why);
        CHECK(text.find("remedy") == text.rfind("remedy"));
    }
}
