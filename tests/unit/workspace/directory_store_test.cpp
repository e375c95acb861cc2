#include "sandbox/base/sha256.hpp"
#include "sandbox/workspace/store.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using tests::error_of;
using tests::TemporaryDirectory;

namespace {

struct Fixture {
    TemporaryDirectory directory;
    std::string root = directory / "workspace";
    std::unique_ptr<workspace::Store> store = workspace::make_directory_store(root);

    workspace::Entry save(const std::string& path, std::string_view content, bool overwrite = true,
                          std::uint32_t mode = 0644, const std::string& principal = "ann")
    {
        auto writer = store->create(principal, path, mode, overwrite);
        writer->write(content);
        return writer->commit();
    }

    std::string load(const std::string& path, const std::string& principal = "ann")
    {
        auto reader = store->open(principal, path);
        std::string content;
        for (;;) {
            const std::string piece = reader->read(7);
            if (piece.empty()) {
                return content;
            }
            content += piece;
        }
    }

    std::vector<std::string> names(const std::string& prefix, std::size_t limit = 100)
    {
        std::size_t total = 0;
        std::vector<std::string> paths;
        for (const auto& entry : store->list("ann", prefix, limit, total)) {
            paths.push_back(entry.path);
        }
        return paths;
    }

    /// Where the store keeps the principal's things.
    [[nodiscard]] std::string own(const std::string& below) const
    {
        return root + "/" + sha256_hex("ann") + "/" + below;
    }
};

using Names = std::vector<std::string>;

} // namespace

TEST_SUITE("workspace/directory_store")
{
    TEST_CASE_FIXTURE(Fixture, "a thousand sealed files wait for their commit without descriptors")
    {
        rlimit before{};
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
        const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
        std::vector<std::unique_ptr<workspace::Writer>> writers;
        for (int i = 0; i < 1000; ++i) {
            writers.push_back(store->create("ann", "/d/" + std::to_string(i), 0644, true));
            writers.back()->write("content " + std::to_string(i));
            writers.back()->seal();
        }
        CHECK(names("/d").empty()); // invisible until commit
        for (auto& writer : writers) {
            CHECK(writer->commit().sha256.size() == 64);
        }
        CHECK(::setrlimit(RLIMIT_NOFILE, &before) == 0);
        CHECK(names("/d", 2000).size() == 1000);
        CHECK(load("/d/999") == "content 999");
    }

    TEST_CASE_FIXTURE(Fixture, "what was saved is loaded, with its facts")
    {
        const std::string content("line\n\0bytes\xff", 12);
        const auto entry = save("out//data.bin", content, true, 0100755);
        CHECK(entry.path == "/out/data.bin");
        CHECK(entry.size == 12);
        CHECK(entry.sha256 == sha256_hex(content));
        CHECK(entry.mode == 0755);
        CHECK(entry.modified.size() == 20);
        CHECK(load("/out/data.bin") == content);
        const auto reader = store->open("ann", "/out/./data.bin");
        CHECK(reader->entry().sha256 == entry.sha256);
        CHECK(reader->entry().mode == 0755);
        CHECK(reader->entry().size == 12);
        CHECK(reader->entry().modified == entry.modified);
    }

    TEST_CASE_FIXTURE(Fixture, "an empty file is a file")
    {
        CHECK(save("empty", "").sha256 == sha256_hex(""));
        CHECK(load("empty").empty());
        CHECK(names("") == Names{"/empty"});
    }

    TEST_CASE_FIXTURE(Fixture, "before anything was saved there is nothing, and nothing is made")
    {
        std::size_t total = 9;
        CHECK(store->list("ann", "/", 10, total).empty());
        CHECK(total == 0);
        CHECK(error_of([&] { (void)store->open("ann", "a"); }) == ErrorCode::not_found);
        CHECK(error_of([&] { store->remove("ann", "a"); }) == ErrorCode::not_found);
        CHECK_FALSE(std::filesystem::exists(root));
    }

    TEST_CASE_FIXTURE(Fixture, "a writer that is dropped leaves nothing")
    {
        {
            auto writer = store->create("ann", "deep/er/file", 0644, true);
            writer->write("half");
        }
        CHECK(names("").empty());
        CHECK(std::filesystem::is_empty(own("tmp")));
        CHECK(std::filesystem::is_empty(own("files")));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "replacing is whole: a reader of the old content reads it to its end")
    {
        save("a", "the old content");
        auto reader = store->open("ann", "a");
        CHECK(reader->read(7) == "the old");
        save("a", "new");
        CHECK(reader->read(100) == " content");
        CHECK(load("a") == "new");
        CHECK(names("").size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "principals see only their own")
    {
        save("a", "ann's");
        save("a", "bob's", true, 0644, "bob");
        CHECK(load("a") == "ann's");
        CHECK(load("a", "bob") == "bob's");
        store->remove("bob", "a");
        CHECK(load("a") == "ann's");
        CHECK(error_of([&] { (void)load("a", "../ann"); }) == ErrorCode::not_found);
    }

    TEST_CASE_FIXTURE(Fixture, "nobody else may look: 0700 and 0600 whatever the umask")
    {
        const mode_t before = ::umask(0);
        save("d/a", "x");
        ::umask(before);
        struct stat status{};
        for (const auto& folder : {root, own(""), own("files"), own("tmp"), own("files/d")}) {
            CAPTURE(folder);
            REQUIRE(::stat(folder.c_str(), &status) == 0);
            CHECK((status.st_mode & 0777U) == 0700);
        }
        REQUIRE(::stat(own("files/d/a").c_str(), &status) == 0);
        CHECK((status.st_mode & 0777U) == 0600);
    }

    TEST_CASE_FIXTURE(Fixture, "paths cannot climb out")
    {
        for (const char* path : {"../x", "/../../x", "a/../../x", ""}) {
            CAPTURE(path);
            CHECK(error_of([&] { save(path, "x"); }) == ErrorCode::invalid_path);
            CHECK(error_of([&] { (void)load(path); }) == ErrorCode::invalid_path);
            CHECK(error_of([&] { store->remove("ann", path); }) == ErrorCode::invalid_path);
        }
        CHECK(error_of([&] { save("/", "x"); }) == ErrorCode::invalid_path);
        CHECK(error_of([&] { (void)load("/"); }) == ErrorCode::invalid_path);
        CHECK(error_of([&] { store->remove("ann", "//"); }) == ErrorCode::invalid_path);
    }

    TEST_CASE_FIXTURE(Fixture, "a symlink planted in the store leads nowhere")
    {
        std::ofstream(directory / "secret") << "secret";
        save("real", "x");
        std::filesystem::create_symlink(directory / "secret", own("files/link"));
        std::filesystem::create_directory_symlink(directory.path(), own("files/folder"));
        CHECK(error_of([&] { (void)load("link"); }) == ErrorCode::invalid_path);
        CHECK(error_of([&] { (void)load("folder/secret"); }) == ErrorCode::invalid_path);
        CHECK(error_of([&] { save("folder/new", "x"); }) == ErrorCode::invalid_path);
        CHECK(names("") == Names{"/real"});
        CHECK_FALSE(std::filesystem::exists(directory / "new"));
        save("link", "replaced"); // the link itself is replaced, what it names stays
        CHECK(load("link") == "replaced");
        CHECK(std::filesystem::file_size(directory / "secret") == 6);
    }

    TEST_CASE_FIXTURE(Fixture, "names of our own making collide with none of theirs")
    {
        const std::string long_name(255, 'n');
        const Names paths{"/" + long_name,
                          "/.tmp",
                          "/files/tmp/record.json",
                          "/meta",
                          "/new\nline",
                          "/tmp/a",
                          "/\xc3\xbc/\xf0\x9f\x9a\xa2 \xe4\xba\x8c"};
        for (const auto& path : paths) {
            save(path, path);
        }
        auto sorted = paths;
        std::sort(sorted.begin(), sorted.end());
        CHECK(names("") == sorted);
        for (const auto& path : paths) {
            CHECK(load(path) == path);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "a prefix is a folder or a file, not the beginning of a name")
    {
        for (const char* path : {"a/1", "a/b/2", "ab", "ab2/3", "z"}) {
            save(path, path);
        }
        CHECK(names("/a") == Names{"/a/1", "/a/b/2"});
        CHECK(names("a/") == Names{"/a/1", "/a/b/2"});
        CHECK(names("ab") == Names{"/ab"});
        CHECK(names("/nothing").empty());
        CHECK(names("ab/below").empty());
        CHECK(names("/").size() == 5);
        std::size_t total = 0;
        CHECK(store->list("ann", "", 2, total).size() == 2);
        CHECK(total == 5);
        CHECK(store->list("ann", "", 0, total).empty());
        // Behind a path, which need not be there.
        const auto behind = store->list("ann", "", 2, total, "/a/b");
        REQUIRE(behind.size() == 2);
        CHECK(behind[0].path == "/a/b/2");
        CHECK(behind[1].path == "/ab");
        CHECK(total == 5);
        CHECK(store->list("ann", "", 9, total, "/z").empty());
        CHECK(error_of([&] { (void)names("../x"); }) == ErrorCode::invalid_path);
    }

    TEST_CASE_FIXTURE(Fixture, "a file cannot be a folder at once")
    {
        save("a", "file");
        CHECK(error_of([&] { save("a/b", "x"); }) == ErrorCode::conflict);
        CHECK(error_of([&] { (void)load("a/b"); }) == ErrorCode::not_found);
        save("d/e/f", "x");
        CHECK(error_of([&] { save("d", "x"); }) == ErrorCode::conflict);
        CHECK(error_of([&] { save("d/e", "x", false); }) == ErrorCode::conflict);
        CHECK(error_of([&] { (void)load("d"); }) == ErrorCode::is_directory);
        CHECK(error_of([&] { store->remove("ann", "d"); }) == ErrorCode::is_directory);
        // Nothing that happens by itself makes these succeed.
        const auto may_be_repeated = [&](const std::string& path, bool overwrite) {
            try {
                save(path, "x", overwrite);
            } catch (const Error& error) {
                return error.retryable();
            }
            return true;
        };
        CHECK_FALSE(may_be_repeated("a/b", true));
        CHECK_FALSE(may_be_repeated("d", true));
        CHECK_FALSE(may_be_repeated("a", false));
        CHECK(names("") == Names{"/a", "/d/e/f"});
        CHECK(std::filesystem::is_empty(own("tmp")));
    }

    TEST_CASE_FIXTURE(Fixture, "a folder goes with its last file, and its name is free again")
    {
        save("d/e/f", "x");
        save("d/g", "x");
        store->remove("ann", "d/e/f");
        CHECK(names("") == Names{"/d/g"});
        CHECK_FALSE(std::filesystem::exists(own("files/d/e")));
        store->remove("ann", "/d/g");
        CHECK(error_of([&] { store->remove("ann", "/d/g"); }) == ErrorCode::not_found);
        save("d", "now a file");
        CHECK(load("d") == "now a file");
    }

    TEST_CASE_FIXTURE(Fixture, "folders that a crash left empty are in nobody's way")
    {
        save("other", "x");
        std::filesystem::create_directories(own("files/d/e/f"));
        save("d", "file");
        CHECK(load("d") == "file");
    }

    TEST_CASE_FIXTURE(Fixture, "overwrite = false refuses what exists, early and late")
    {
        save("a", "first");
        CHECK(error_of([&] { (void)store->create("ann", "a", 0644, false); }) ==
              ErrorCode::conflict);
        auto late = store->create("ann", "b", 0644, false);
        late->write("late");
        save("b", "early");
        CHECK(error_of([&] { (void)late->commit(); }) == ErrorCode::conflict);
        late.reset();
        CHECK(load("b") == "early");
        CHECK(std::filesystem::is_empty(own("tmp")));
    }

    TEST_CASE_FIXTURE(Fixture, "of many who create one path exactly one wins")
    {
        for (int round = 0; round < 20; ++round) {
            const std::string path = "race/" + std::to_string(round);
            std::atomic<int> won{0};
            {
                std::vector<std::jthread> threads;
                for (int i = 0; i < 8; ++i) {
                    threads.emplace_back([&, i] {
                        if (!error_of([&] { save(path, std::to_string(i), false); })) {
                            ++won;
                        }
                    });
                }
            }
            CHECK(won == 1);
            CHECK(load(path).size() == 1);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "writers and removers of one folder never lose or tear a file")
    {
        std::atomic<int> failures{0};
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < 4; ++i) {
                threads.emplace_back([&, i] {
                    for (int round = 0; round < 50; ++round) {
                        const std::string path = "d/e/" + std::to_string(i);
                        const std::string content(1000, static_cast<char>('a' + round % 26));
                        try {
                            save(path, content);
                            failures += load(path) == content ? 0 : 1;
                            store->remove("ann", path);
                        } catch (const Error&) {
                            ++failures;
                        }
                    }
                });
            }
        }
        CHECK(failures == 0);
        CHECK(names("").empty());
        CHECK(std::filesystem::is_empty(own("files")));
    }

    TEST_CASE_FIXTURE(Fixture, "processes that write one path leave one whole file")
    {
        std::vector<pid_t> children;
        for (int i = 0; i < 4; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0) {
                for (int round = 0; round < 20; ++round) {
                    save("shared", std::string(5000, static_cast<char>('a' + i)));
                }
                ::_exit(0);
            }
            children.push_back(pid);
        }
        for (const pid_t pid : children) {
            int status = -1;
            REQUIRE(::waitpid(pid, &status, 0) == pid);
            CHECK(status == 0);
        }
        const std::string content = load("shared");
        CHECK(content == std::string(5000, content.front()));
        CHECK(std::filesystem::is_empty(own("tmp")));
    }

    TEST_CASE_FIXTURE(Fixture, "damage is told, never handed out as content")
    {
        const std::string content(100'000, 'x');
        const auto damage = [&](std::int64_t position) {
            save("a", content);
            const int fd = ::open(own("files/a").c_str(), O_RDWR | O_CLOEXEC);
            const auto size = ::lseek(fd, 0, SEEK_END);
            CHECK(::pwrite(fd, "!", 1, position < 0 ? size + position : position) == 1);
            ::close(fd);
        };
        SUBCASE("in the content")
        {
            damage(50'000);
        }
        SUBCASE("in the last byte of the content")
        {
            damage(99'999);
        }
        SUBCASE("in the checksum")
        {
            damage(-50);
        }
        SUBCASE("in the mode")
        {
            damage(-15);
        }
        SUBCASE("in the end of the footer")
        {
            damage(-1);
        }
        SUBCASE("cut short")
        {
            save("a", content);
            std::filesystem::resize_file(own("files/a"), 60'000);
        }
        SUBCASE("empty")
        {
            save("a", content);
            std::filesystem::resize_file(own("files/a"), 0);
        }
        CHECK(error_of([&] { (void)load("a"); }) == ErrorCode::backend_error);
        CHECK(names("") == Names{"/a"});
        store->remove("ann", "a");
        CHECK(names("").empty());
    }

    TEST_CASE_FIXTURE(Fixture, "the caller who counts bytes is told of damage with the last piece")
    {
        save("a", "0123456789");
        const int fd = ::open(own("files/a").c_str(), O_RDWR | O_CLOEXEC);
        CHECK(::pwrite(fd, "!", 1, 0) == 1);
        ::close(fd);
        auto reader = store->open("ann", "a");
        CHECK(reader->read(5) == "!1234");
        CHECK(error_of([&] { (void)reader->read(5); }) == ErrorCode::backend_error);
    }

    TEST_CASE_FIXTURE(Fixture, "ten thousand files are listed whole and in order")
    {
        // Links of one stored file: that many flushes would measure the disk, not the store.
        save("many/0", "x");
        for (int i = 1; i < 10'000; ++i) {
            const std::string name = own("files/many/") + std::to_string(i);
            REQUIRE(::link(own("files/many/0").c_str(), name.c_str()) == 0);
        }
        std::size_t total = 0;
        const auto entries = store->list("ann", "many", 20'000, total);
        CHECK(total == 10'000);
        REQUIRE(entries.size() == 10'000);
        for (std::size_t i = 1; i < entries.size(); ++i) {
            CHECK(entries[i - 1].path < entries[i].path);
        }
        CHECK(entries.front().sha256 == sha256_hex("x"));
    }

    TEST_CASE("a root that cannot be made is an error that names it")
    {
        const TemporaryDirectory directory;
        std::ofstream(directory / "file") << "x";
        const auto store = workspace::make_directory_store(directory / "file/below");
        CHECK_THROWS_AS((void)store->create("ann", "a", 0644, true), Error);
    }
}
