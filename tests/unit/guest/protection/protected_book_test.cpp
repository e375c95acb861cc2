#include "sandbox/guest/protection/protected_book.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// On a real disk: what tells a change is the time that the kernel gives to it.

namespace berth::guest::test {
namespace {

namespace fs = std::filesystem;

/// A session's home, and what its commands are told.
class Session {
  public:
    Session() { config_.home = fs::canonical(directory_ / "").string(); }

    [[nodiscard]] std::string path(const std::string& name) const
    {
        return config_.home + "/" + name;
    }

    void write(const std::string& name, const std::string& content = "x") const
    {
        fs::create_directories(fs::path(path(name)).parent_path());
        std::ofstream(path(name)) << content;
    }

    /// When a command begins: later than all that was there before. From Linux 6.13 on a file may
    /// have a finer time, to which the kernel's coarse one comes some ticks later.
    static std::int64_t begin()
    {
        constexpr std::int64_t some_ticks = 20'000'000;
        const auto last = stamp_time_now();
        while (stamp_time_now() < last + some_ticks) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return stamp_time_now();
    }

    /// "created CLAUDE.md", "before: changed .bashrc" …, sorted.
    std::vector<std::string> look(std::int64_t began, const std::string& place = {})
    {
        std::vector<std::string> told;
        for (const auto& change :
             book.look(protection, {place.empty() ? config_.home : path(place)}, began)) {
            const char* const words[] = {"created ", "changed ", "removed "};
            told.push_back((change.before ? "before: " : "") +
                           std::string(words[static_cast<int>(change.change)]) +
                           change.path.substr(config_.home.size() + 1));
        }
        std::ranges::sort(told);
        return told;
    }

    [[nodiscard]] ProtectedScan scan() const
    {
        return scan_protected(protection, {config_.home}, config_);
    }

    protocol::Protection protection{.paths = {".claude/", ".git/hooks/", "~/.bashrc", "CLAUDE.md"}};

  private:
    tests::TemporaryDirectory directory_;
    protocol::GuestConfig config_;

  public:
    ProtectedBook book{config_};
};

using Told = std::vector<std::string>;

} // namespace

TEST_CASE("protected files: what a command made, changed and removed, once")
{
    Session session;
    session.write(".bashrc");
    session.write(".claude/agents/one.md");
    session.write("notes.md");
    CHECK(session.look(Session::begin()) == Told{}); // it was all there before
    auto began = Session::begin();
    session.write("CLAUDE.md");
    session.write(".git/hooks/pre-commit");
    session.write(".git/hooks/pre-push.sample");
    session.write("notes.md");
    fs::remove_all(session.path(".claude"));
    CHECK(session.look(began) == Told{"created .git/hooks/pre-commit", "created CLAUDE.md",
                                      "removed .claude/agents/one.md"});
    began = Session::begin();
    CHECK(session.look(began) == Told{});
    ::chmod(session.path(".bashrc").c_str(), 0755);
    CHECK(session.look(began) == Told{"changed .bashrc"});
}

TEST_CASE("protected files: no way of changing one hides it")
{
    Session session;
    session.write("CLAUDE.md", "old");
    session.write("other", "new");
    session.write("outside/target", "old");
    fs::create_symlink("outside/target", session.path(".bashrc"));
    CHECK(session.look(Session::begin()) == Told{});
    auto began = Session::begin();
    fs::rename(session.path("other"), session.path("CLAUDE.md")); // of the same size
    CHECK(session.look(began) == Told{"changed CLAUDE.md"});
    began = Session::begin();
    std::ofstream(session.path("CLAUDE.md")) << "NEW";
    const timespec old[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
    REQUIRE(::utimensat(AT_FDCWD, session.path("CLAUDE.md").c_str(), old, 0) == 0);
    CHECK(session.look(began) == Told{"changed CLAUDE.md"});
    began = Session::begin();
    std::ofstream(session.path("outside/target")) << "changed"; // through what a link leads to
    CHECK(session.look(began) == Told{"changed .bashrc"});
    began = Session::begin();
    fs::create_hard_link(session.path("CLAUDE.md"), session.path("alias"));
    std::ofstream(session.path("alias")) << "by another name";
    CHECK(session.look(began) == Told{"changed CLAUDE.md"});
}

TEST_CASE("protected files: the first look knows what a command has just changed")
{
    Session session;
    session.write(".bashrc");
    const auto began = Session::begin();
    session.write("CLAUDE.md");
    session.book.get_to_know(session.protection, {session.path("")});
    CHECK(session.look(began) == Told{"changed CLAUDE.md"});
    CHECK(session.look(Session::begin()) == Told{});
}

TEST_CASE("protected files: commands that run at the same time are both told")
{
    Session session;
    session.write(".claude/settings.json");
    CHECK(session.look(Session::begin()) == Told{});
    const auto began = Session::begin();
    session.write("CLAUDE.md");
    fs::remove(session.path(".claude/settings.json"));
    (void)Session::begin();
    CHECK(session.look(began) == Told{"created CLAUDE.md", "removed .claude/settings.json"});
    CHECK(session.look(began) == Told{"changed CLAUDE.md", "removed .claude/settings.json"});
    CHECK(session.look(Session::begin()) == Told{});
}

TEST_CASE("protected files: what changes between two commands is told by the next one as that")
{
    Session session;
    session.write("CLAUDE.md");
    session.write(".bashrc");
    CHECK(session.look(Session::begin()) == Told{});
    session.write("CLAUDE.md");
    session.write(".git/hooks/pre-commit");
    fs::remove(session.path(".bashrc"));
    const auto began = Session::begin();
    CHECK(session.look(began) == Told{"before: changed CLAUDE.md",
                                      "before: created .git/hooks/pre-commit",
                                      "before: removed .bashrc"});
}

TEST_CASE("protected files: those of a folder and of all above it, of no other tree")
{
    Session session;
    session.write("app/src/deep/file");
    session.write("app/CLAUDE.md");
    session.write("other/CLAUDE.md");
    CHECK(session.look(Session::begin(), "app/src/deep") == Told{});
    CHECK(session.book.knows(session.path("app/src")));
    CHECK_FALSE(session.book.knows(session.path("other")));
    const auto began = Session::begin();
    session.write("app/CLAUDE.md", "changed");
    session.write("app/src/CLAUDE.md");
    session.write("other/CLAUDE.md", "changed");
    CHECK(session.look(began, "app/src/deep") ==
          Told{"changed app/CLAUDE.md", "created app/src/CLAUDE.md"});
}

TEST_CASE("protected files: what cannot be seen is not taken for removed")
{
    // Root sees all.
    as_ordinary_user(65534, [] {
        Session session;
        session.write(".claude/settings.json");
        const bool nothing_new = session.look(Session::begin()).empty();
        const auto began = Session::begin();
        ::chmod(session.path(".claude").c_str(), 0000);
        const bool kept = session.look(began).empty();
        ::chmod(session.path(".claude").c_str(), 0700);
        return nothing_new && kept && session.look(began).empty() ? 0 : 1;
    });
}

TEST_CASE("protected files: of a folder with too many entries no more than so many are looked at")
{
    Session session;
    for (int i = 0; i < 2100; ++i) {
        session.write(".claude/" + std::to_string(i));
    }
    session.write("CLAUDE.md");
    const auto seen = session.scan();
    CHECK(seen.files.size() <= 1001);
    CHECK(seen.unread.size() <= 2000);
    CHECK(seen.files.contains(session.path("CLAUDE.md")));
    CHECK(session.look(Session::begin()) == Told{});
    const auto began = Session::begin();
    for (int i = 0; i < 2100; ++i) {
        session.write(".claude/" + std::to_string(i), "changed");
    }
    session.write("CLAUDE.md", "and this");
    const auto told = session.look(began);
    CHECK(told.size() == ProtectedBook::most_told);
    CHECK(std::ranges::count(told, "changed CLAUDE.md") == 1);
}

TEST_CASE("protected files: what a tool has written is its own result's to tell")
{
    Session session;
    CHECK(session.look(Session::begin()) == Told{});
    const auto running = Session::begin();
    (void)Session::begin();
    session.write("CLAUDE.md");
    session.book.wrote(session.path("CLAUDE.md"));
    CHECK(session.look(Session::begin()) == Told{});
    CHECK(session.look(running) == Told{"changed CLAUDE.md"}); // it may have been that command too
    fs::remove(session.path("CLAUDE.md"));
    session.book.wrote(session.path("CLAUDE.md"));
    CHECK(session.look(Session::begin()) == Told{});
}

TEST_CASE("protected files: what a look found too late, the next one tells")
{
    Session session;
    CHECK(session.look(Session::begin()) == Told{});
    session.book.note_late(/*ended=*/false);
    CHECK(session.book.is_late());
    session.book.keep({{.path = session.path("CLAUDE.md"), .change = protocol::Change::created}});
    session.book.note_late(/*ended=*/true);
    CHECK_FALSE(session.book.is_late());
    CHECK(session.book.begin_to_know());
    CHECK_FALSE(session.book.begin_to_know());
    session.book.get_to_know(session.protection, {session.path("")});
    CHECK(session.book.begin_to_know());
    CHECK(session.look(Session::begin()) == Told{"before: created CLAUDE.md"});
    CHECK(session.look(Session::begin()) == Told{});
}

} // namespace berth::guest::test
