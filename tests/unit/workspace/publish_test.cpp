#include "sandbox/base/sha256.hpp"
#include "sandbox/workspace/journal.hpp"
#include "sandbox/workspace/store.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using tests::error_of;
using tests::TemporaryDirectory;

namespace {

struct Files {
    TemporaryDirectory directory;
    std::string root = directory / "workspace";
    std::string own = root + "/" + sha256_hex("ann");
    std::unique_ptr<workspace::Store> store = workspace::make_directory_store(root);
    std::vector<std::unique_ptr<workspace::Writer>> writers;

    void add(const std::string& path, std::string_view content, bool overwrite = true)
    {
        writers.push_back(store->create("ann", path, 0644, overwrite));
        writers.back()->write(content);
        writers.back()->seal();
    }

    std::vector<workspace::Entry> commit(const std::stop_token& stop = {})
    {
        auto entries = store->commit(writers, stop);
        writers.clear();
        return entries;
    }

    [[nodiscard]] std::vector<workspace::Entry> list(const std::string& prefix = "/") const
    {
        std::size_t total = 0;
        return store->list("ann", prefix, 10'000, total);
    }

    [[nodiscard]] std::string load(const std::string& path) const
    {
        return store->open("ann", path)->read(1000);
    }

    [[nodiscard]] bool is_tidy() const
    {
        return std::filesystem::is_empty(own + "/tmp") &&
               !std::filesystem::exists(own + "/journal");
    }
};

} // namespace

TEST_SUITE("workspace/publish")
{
    TEST_CASE_FIXTURE(Files, "several files come together, new ones and replaced ones")
    {
        add("/d/old", "before");
        commit();
        add("/d/old", "after");
        add("/d/e/new", "new");
        add("/f", "f");
        CHECK(list().size() == 1);
        const auto entries = commit();
        REQUIRE(entries.size() == 3);
        CHECK(entries[1].path == "/d/e/new");
        CHECK(entries[1].sha256 == sha256_hex("new"));
        CHECK(load("/d/old") == "after");
        CHECK(load("/d/e/new") == "new");
        CHECK(list().size() == 3);
        CHECK(is_tidy());
    }

    TEST_CASE_FIXTURE(Files, "one that cannot be placed keeps all from being placed")
    {
        add("/a", "a");
        add("/folder/x", "x");
        commit();
        add("/a", "other");
        add("/n/m/new", "new");
        add("/late", "late", false);
        {
            auto meanwhile = store->create("ann", "/late", 0644, true);
            (void)meanwhile->commit();
        }
        CHECK(error_of([&] { (void)commit(); }) == ErrorCode::conflict);
        writers.clear();
        CHECK(load("/a") == "a");
        CHECK(list("/n").empty());
        CHECK_FALSE(std::filesystem::exists(own + "/files/n"));
        CHECK(is_tidy());
        // In one publication a path cannot be a file and a folder: found out only while placing.
        add("/a", "other");
        add("/both/below", "x");
        add("/both", "y");
        CHECK(error_of([&] { (void)commit(); }).has_value());
        writers.clear();
        CHECK(load("/a") == "a");
        CHECK(list("/both").empty());
        CHECK(is_tidy());
    }

    TEST_CASE_FIXTURE(Files, "a cancelled one changes nothing")
    {
        std::stop_source stop;
        add("/a", "a");
        add("/b", "b");
        stop.request_stop();
        CHECK(error_of([&] { (void)commit(stop.get_token()); }) == ErrorCode::cancelled);
        writers.clear();
        CHECK(list().empty());
        CHECK(is_tidy());
    }

    TEST_CASE_FIXTURE(Files, "a reader sees all or none")
    {
        constexpr std::size_t count = 150;
        std::atomic<bool> done{false};
        std::set<std::size_t> seen;
        std::jthread reader([&] {
            const auto other = workspace::make_directory_store(root);
            while (!done) {
                std::size_t total = 0;
                (void)other->list("ann", "/d", 1, total);
                seen.insert(total);
            }
        });
        for (std::size_t i = 0; i < count; ++i) {
            add("/d/" + std::to_string(i), "x");
        }
        commit();
        done = true;
        reader.join();
        seen.erase(0);
        seen.erase(count);
        CHECK(seen.empty());
        CHECK(list("/d").size() == count);
    }

    TEST_CASE_FIXTURE(Files, "whenever a process is killed it is all or none")
    {
        constexpr int count = 50;
        for (int i = 0; i < count; ++i) {
            add("/d/" + std::to_string(i), "old");
        }
        commit();
        for (int round = 0; round < 6; ++round) {
            const std::string content = "round " + std::to_string(round);
            for (int i = 0; i < count; ++i) {
                add("/d/" + std::to_string(i), content);
                add("/n" + std::to_string(round) + "/" + std::to_string(i), content);
            }
            const pid_t pid = ::fork();
            if (pid == 0) {
                (void)store->commit(writers, {});
                ::_exit(0);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(round * 6));
            ::kill(pid, SIGKILL);
            REQUIRE(::waitpid(pid, nullptr, 0) == pid);
            const std::size_t fresh = list("/n" + std::to_string(round)).size();
            CHECK((fresh == 0 || fresh == count));
            std::set<std::string> contents;
            for (const auto& entry : list("/d")) {
                contents.insert(load(entry.path));
            }
            CHECK(contents.size() == 1);
            CHECK((*contents.begin() == content) == (fresh == count));
            CHECK(list("/d").size() == count);
            writers.clear();
        }
    }

    TEST_CASE_FIXTURE(Files, "what a crash left open is undone by whoever comes next")
    {
        add("/kept", "old");
        commit();
        add("/kept", "new");
        add("/placed", "placed");
        add("/waiting", "waiting");
        // As a process leaves it that dies after the second rename.
        std::vector<std::string> names;
        for (const auto& left : std::filesystem::directory_iterator(own + "/tmp")) {
            names.push_back(left.path().filename());
        }
        REQUIRE(names.size() == 3);
        std::filesystem::rename(own + "/files/kept", own + "/tmp/" + names[0] + ".old");
        std::filesystem::rename(own + "/tmp/" + names[0], own + "/files/kept");
        std::filesystem::rename(own + "/tmp/" + names[1], own + "/files/placed");
        std::ofstream(own + "/journal")
            << names[0] << " 1 /kept" << '\0' << names[1] << " 0 /placed" << '\0' << names[2]
            << " 0 /waiting" << '\0';
        CHECK(list().size() == 1);
        CHECK(load("/kept") == "old");
        CHECK(is_tidy());
    }

    TEST_CASE_FIXTURE(Files, "who takes away what is being saved is told of, not the path")
    {
        for (const int count : {1, 2}) {
            CAPTURE(count);
            for (int i = 0; i < count; ++i) {
                add("/d/" + std::to_string(i), "x");
            }
            for (const auto& each : std::filesystem::directory_iterator(own + "/tmp")) {
                std::filesystem::remove(each);
            }
            try {
                commit();
                FAIL("it was saved");
            } catch (const Error& error) {
                CHECK(error.code() == ErrorCode::backend_error);
                CHECK(std::string(error.what()).find("other than berth") != std::string::npos);
                CHECK(error.hint().find("save again") != std::string::npos);
            }
            writers.clear();
            CHECK(list().empty());
            CHECK(is_tidy());
        }
    }

    TEST_CASE_FIXTURE(Files, "an unreadable note of a crash is told, not ignored")
    {
        add("/a", "a");
        commit();
        std::ofstream(own + "/journal") << "what is this";
        CHECK(error_of([&] { (void)list(); }) == ErrorCode::backend_error);
        CHECK(error_of([&] { (void)load("/a"); }) == ErrorCode::backend_error);
    }
}
