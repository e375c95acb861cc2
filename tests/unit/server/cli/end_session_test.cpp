#include "server/cli/end_session.hpp"
#include "server/cli/print.hpp"
#include "server/cli/reports.hpp"
#include "tests/unit/captured.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include <unistd.h>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test
using berth::tests::captured;
using nlohmann::json;

namespace {

constexpr auto save = session::AtEnd::save;
const session::SessionId work{"ann", "work", {}};

/// As the command does; the exit status.
int kill(session::SessionManager& sessions, const cli::Asked& asked, bool purge,
         session::AtEnd files, bool as_json = false)
{
    return cli::tell(cli::kill_session(sessions, asked, purge, files), as_json);
}

struct Fixture {
    berth::tests::TemporaryDirectory directory;
    bool workspace_is_full = false;
    std::function<void()> during; ///< each save
    std::shared_ptr<berth::tests::FakeBackend> backend =
        std::make_shared<berth::tests::FakeBackend>(directory / "machines");
    session::SessionManager sessions = make();

    session::SessionManager make()
    {
        session::Settings settings;
        settings.state_directory = directory / "state";
        settings.save_on_end = {.patterns = {"out"}, .workspace = "/workspace"};
        settings.choose_folder = [](const session::Leaving&) { return "/sessions/work"; };
        settings.save = [this](sandbox::Sandbox&, const session::Leaving& leaving,
                               const std::stop_token&) {
            if (workspace_is_full) {
                throw Error(ErrorCode::no_space, "the disk is full", "make room");
            }
            if (during) {
                during();
            }
            return session::SavedFiles{.session = {},
                                       .folder = leaving.folder,
                                       .files = 2,
                                       .bytes = 10,
                                       .skipped = {"out/link: symbolic link"}};
        };
        return {settings, backend};
    }
};

} // namespace

TEST_CASE_FIXTURE(Fixture, "what was saved at the end is told")
{
    (void)sessions.acquire(work);
    CHECK(
        captured(STDOUT_FILENO, [&] { CHECK(kill(sessions, {work, "work"}, false, save) == 0); }) ==
        "session work has ended; 2 files (10 bytes) are in the workspace at /sessions/work; "
        "skipped: "
        "out/link: symbolic link\n");
    (void)sessions.acquire(work);
    const auto told = json::parse(captured(
        STDOUT_FILENO, [&] { CHECK(kill(sessions, {work, "work"}, true, save, true) == 0); }));
    CHECK(told["purged"] == true);
    CHECK(told["saved"]["folder"] == "/sessions/work");
    CHECK(told["saved"]["files"] == 2);
    CHECK(told["unsaved"] == "");
}

TEST_CASE_FIXTURE(Fixture, "whoever ends a session by its key is told which it was")
{
    (void)sessions.acquire(work);
    const auto key = sessions.list().front().key;
    const auto outcome = cli::kill_session(sessions, {{}, key}, false, save);
    CHECK((*outcome.data)["session"] == "work");
    CHECK((*outcome.data)["principal"] == "ann");
    CHECK((*outcome.data)["key"] == key);
    CHECK(outcome.text.starts_with("session work has ended"));
    const auto none = cli::kill_session(sessions, {{}, "no-such-key"}, false, save);
    CHECK((*none.data)["session"] == "no-such-key");
    CHECK((*none.data)["reason"] == "there is no session \"no-such-key\"");
}

TEST_CASE_FIXTURE(Fixture, "what was saved is told where the books cannot be told of it")
{
    (void)sessions.acquire(work);
    const auto books = directory / "state/sessions/" + session::key_hash(work);
    during = [&] {
        std::filesystem::rename(books, directory / "away");
        std::ofstream(books) << "no folder";
    };
    const auto outcome = cli::kill_session(sessions, {work, "work"}, false, save);
    CHECK(outcome.text == "session work has ended; 2 files (10 bytes) are in the workspace at "
                          "/sessions/work; skipped: out/link: symbolic link");
    CHECK(outcome.complaint.starts_with("that could not be noted: "));
    CHECK(outcome.failure);
    const auto& data = *outcome.data;
    CHECK(data["killed"] == true);
    CHECK(data["saved"]["folder"] == "/sessions/work");
    CHECK(data["unsaved"] == "");
    CHECK(data["reason"] == outcome.complaint);
    CHECK(data["remedy"].get<std::string>().find("`berth sessions gc` notes it") !=
          std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "what could not be saved is told, and is not purged")
{
    workspace_is_full = true;
    (void)sessions.acquire(work);
    std::string out;
    const auto err = captured(STDERR_FILENO, [&] {
        out = captured(STDOUT_FILENO,
                       [&] { CHECK(kill(sessions, {work, "work"}, true, save) == 1); });
    });
    CHECK(out == "session work has ended\n");
    CHECK(err.find("could not be saved: the disk is full\nmake room\n") != std::string::npos);
    CHECK(err.find("`berth call --principal 'ann' --session 'work' bash_exec ...`") !=
          std::string::npos);
    CHECK(err.find("--purge --no-save") != std::string::npos);
    const auto told = json::parse(captured(
        STDOUT_FILENO, [&] { CHECK(kill(sessions, {work, "work"}, true, save, true) == 1); }));
    CHECK(told["purged"] == false);
    CHECK(told["saved"].is_null());
    CHECK(told["unsaved"] == "the disk is full");
    CHECK(told["code"] == "backend_error");
    CHECK(told["reason"] == "what session.save_on_end names could not be saved: the disk is full");
    CHECK(told["remedy"].get<std::string>().starts_with("make room\nIts home is kept, "));
    CHECK(captured(STDOUT_FILENO, [&] {
              CHECK(kill(sessions, {work, "work"}, true, session::AtEnd::give_up) == 0);
          }) == "session work has ended, and its home is removed\n");
    CHECK(sessions.list().empty());
}

TEST_CASE_FIXTURE(Fixture, "of a home that is not there nobody hears that it was removed")
{
    (void)sessions.acquire(work);
    REQUIRE(sessions.kill(work, false));
    std::filesystem::remove_all(backend->find_home(session::key_hash(work)));
    CHECK(captured(STDOUT_FILENO, [&] {
              CHECK(kill(sessions, {work, "work"}, true, session::AtEnd::give_up) == 0);
          }) == "session work has ended, and no home of it was found on this host\n");
}

TEST_CASE_FIXTURE(Fixture, "there has to be something to end")
{
    (void)sessions.acquire(work);
    CHECK(
        captured(STDOUT_FILENO, [&] { CHECK(kill(sessions, {work, "work"}, false, save) == 0); }) ==
        "session work has ended; 2 files (10 bytes) are in the workspace at /sessions/work; "
        "skipped: "
        "out/link: symbolic link\n");
    const auto err = captured(STDERR_FILENO, [&] {
        CHECK(kill(sessions, {{"ann", "none", {}}, "none"}, false, save) == 1);
    });
    CHECK(err.starts_with("berth: there is no session \"none\" of ann\n"));
    CHECK(err.find("`berth sessions list`") != std::string::npos);
    const auto told = json::parse(captured(STDOUT_FILENO, [&] {
        CHECK(kill(sessions, {{"ann", "none", {}}, "none"}, false, save, true) == 1);
    }));
    CHECK(told["killed"] == false);
    CHECK(told["purged"] == false);
    CHECK(told["reason"] == "there is no session \"none\" of ann");
    CHECK(told["code"] == "not_found");
    CHECK(told["remedy"].get<std::string>().find("`berth sessions list`") != std::string::npos);
    const auto again = captured(STDERR_FILENO, [&] {
        CHECK(kill(sessions, {work, "work"}, false, save) == 1); // it has ended
    });
    CHECK(again.starts_with("berth: session work has ended already; its home is kept\n"));
    CHECK(again.find("--purge removes it") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a session that has ended is told as that by whatever names it")
{
    (void)sessions.acquire(work);
    const auto shown = sessions.facts(work).sandbox_id;
    REQUIRE(sessions.kill(work, false));
    for (const auto& name : {shown, session::key_hash(work)}) {
        const auto told = json::parse(captured(STDOUT_FILENO, [&] {
            CHECK(kill(sessions, {{"ann", name, {}}, name}, false, save, true) == 1);
        }));
        CHECK(told["killed"] == false);
        CHECK(told["reason"] == "session " + name + " has ended already; its home is kept");
        CHECK(told["code"] == "conflict");
    }
    CHECK(captured(STDOUT_FILENO, [&] {
              CHECK(kill(sessions, {work, "work"}, true, save) == 0);
          }) == "session work has ended, and its home is removed\n");
    CHECK(captured(STDERR_FILENO, [&] {
              (void)kill(sessions, {work, "work"}, false, save);
          }).find("there is no session") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a session of another session.key is ended by what the list shows")
{
    const session::SessionId before{"ann", "work", "another key"};
    const session::SessionId now{"ann", "work", {}};
    (void)sessions.acquire(before);
    const auto err =
        captured(STDERR_FILENO, [&] { CHECK(kill(sessions, {now, "work"}, true, save) == 1); });
    const auto list = json::parse(
        captured(STDOUT_FILENO, [&] { (void)cli::tell(cli::list_sessions(sessions), true); }));
    REQUIRE(list.size() == 1);
    const auto key = list[0].value("key", "");
    CHECK(key == session::key_hash(before));
    CHECK(err.find("session.key") != std::string::npos);
    CHECK(err.find("`berth sessions kill " + key + "`") != std::string::npos);
    const auto shown = list[0]["sandbox_id"].get<std::string>();
    const auto text = captured(STDOUT_FILENO, [&] {
        CHECK(kill(sessions, {{"ann", shown, {}}, shown}, true, save) == 0);
    });
    CHECK(text.starts_with("session work has ended")); // whatever it was called by
    CHECK(sessions.list().empty());
}

TEST_CASE_FIXTURE(Fixture, "a name cannot turn the line it is told in around")
{
    const session::SessionId odd{"ann\u202e", "work\u202egnp", {}};
    const auto end = [&] { (void)kill(sessions, {odd, odd.session}, false, save); };
    const auto refused = captured(STDERR_FILENO, end);
    (void)sessions.acquire(odd);
    const auto ended = captured(STDOUT_FILENO, end);
    CHECK(refused.find("there is no session") != std::string::npos);
    CHECK(ended.find("has ended") != std::string::npos);
    for (const auto& text : {refused, ended}) {
        CHECK(text.find("\u202e") == std::string::npos);
        CHECK(text.find(cli::one_line(odd.session)) != std::string::npos);
    }
}

TEST_CASE_FIXTURE(Fixture, "whoever ends one session does not have all of them described")
{
    for (const auto* name : {"one", "two", "three", "work"}) {
        (void)sessions.acquire({"ann", name, {}});
    }
    std::set<std::string> looked;
    backend->before_find = [&](const std::string& key) { looked.insert(key); };
    CHECK(captured(STDOUT_FILENO, [&] {
              CHECK(kill(sessions, {work, "work"}, false, save) == 0);
          }).starts_with("session work has ended"));
    looked.erase(session::key_hash(work));
    CHECK(looked.empty());
}
