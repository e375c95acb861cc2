#include "sandbox/base/deadline.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/workspace/area.hpp"
#include "sandbox/workspace/store.hpp"
#include "sandbox/workspace/writer_area.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using tests::error_of;
using tests::TemporaryDirectory;
using workspace::sweep_workspace;

namespace {

using Writers = std::vector<std::unique_ptr<workspace::Writer>>;

struct Workspace {
    TemporaryDirectory directory;
    std::string root = directory / "workspace";
    std::unique_ptr<workspace::Store> store = workspace::make_directory_store(root);

    [[nodiscard]] std::string temporary(const std::string& principal = "ann") const
    {
        return root + "/" + sha256_hex(principal) + "/tmp";
    }

    [[nodiscard]] std::size_t left(const std::string& principal = "ann") const
    {
        std::size_t count = 0;
        for (const auto& each : std::filesystem::directory_iterator(temporary(principal))) {
            count += each.is_regular_file() ? 1U : 0U;
        }
        return count;
    }

    [[nodiscard]] static Writers write(workspace::Store& to, int count,
                                       const std::string& principal = "ann")
    {
        Writers writers;
        for (int i = 0; i < count; ++i) {
            writers.push_back(to.create(principal, "/d/" + std::to_string(i), 0644, true));
            writers.back()->write("half");
        }
        return writers;
    }

    static void save(workspace::Store& to, const std::string& path,
                     const std::string& principal = "ann")
    {
        auto writer = to.create(principal, path, 0644, true);
        writer->write("x");
        (void)writer->commit();
    }

    [[nodiscard]] std::size_t stored(const std::string& prefix,
                                     const std::string& principal = "ann") const
    {
        std::size_t total = 0;
        (void)store->list(principal, prefix, 0, total);
        return total;
    }

    /// As if the clock had been set far ahead since.
    void make_old(const std::string& principal = "ann") const
    {
        const std::array<timespec, 2> old{timespec{.tv_sec = 1000, .tv_nsec = 0},
                                          timespec{.tv_sec = 1000, .tv_nsec = 0}};
        for (const auto& each : std::filesystem::directory_iterator(temporary(principal))) {
            REQUIRE(::utimensat(AT_FDCWD, each.path().c_str(), old.data(), AT_SYMLINK_NOFOLLOW) ==
                    0);
        }
    }

    [[nodiscard]] workspace::Swept sweep(const std::stop_token& stop = {}) const
    {
        return sweep_workspace(root, Deadline::after(std::chrono::minutes(1)), stop);
    }
};

/// Another process, in the middle of a save until it is killed.
class Saver {
  public:
    Saver(const std::string& root, int count, const std::string& principal)
    {
        std::array<int, 2> ready{};
        REQUIRE(::pipe2(ready.data(), O_CLOEXEC) == 0);
        const UniqueFd reads(ready[0]);
        UniqueFd writes(ready[1]);
        pid_ = ::fork();
        if (pid_ == 0) {
            const auto store = workspace::make_directory_store(root);
            const auto writers = Workspace::write(*store, count, principal);
            (void)!::write(writes.get(), "x", 1);
            for (;;) {
                ::pause();
            }
        }
        writes.reset();
        char byte = 0;
        REQUIRE(::read(reads.get(), &byte, 1) == 1);
    }

    ~Saver() { kill(); }

    Saver(const Saver&) = delete;
    Saver& operator=(const Saver&) = delete;

    void kill()
    {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
            pid_ = -1;
        }
    }

  private:
    pid_t pid_ = -1;
};

} // namespace

TEST_SUITE("workspace/sweep")
{
    TEST_CASE_FIXTURE(Workspace, "a save that lives is swept by nobody, whatever the clock says")
    {
        auto writers = write(*store, 3);
        make_old();
        const auto other = workspace::make_directory_store(root);
        save(*other, "/other");
        const auto swept = sweep();
        CHECK(swept.files == 0);
        CHECK(swept.failed.empty());
        CHECK(left() == 3);
        for (auto& writer : writers) {
            writer->write(" and whole");
        }
        CHECK(store->commit(writers, {}).size() == 3);
        writers.clear();
        CHECK(stored("/d") == 3);
        CHECK(store->open("ann", "/d/0")->read(100) == "half and whole");
        CHECK(std::filesystem::is_empty(temporary()));
    }

    TEST_CASE_FIXTURE(Workspace, "what a killed save left goes with the next one, however young")
    {
        Saver saver(root, 3, "ann");
        save(*store, "/a");
        CHECK(left() == 3); // it lives
        saver.kill();
        CHECK(stored("/d") == 0);
        save(*store, "/b");
        CHECK(std::filesystem::is_empty(temporary()));
        CHECK(stored("/") == 2);
    }

    TEST_CASE_FIXTURE(Workspace, "a collection sweeps for all principals, and only what is dead")
    {
        Saver ann(root, 3, "ann");
        Saver bob(root, 2, "bob");
        const Saver carl(root, 1, "carl");
        ann.kill();
        bob.kill();
        for (const auto* principal : {"ann", "bob", "carl"}) {
            make_old(principal);
        }
        const auto swept = sweep();
        CHECK(swept.files == 5);
        CHECK(swept.bytes == 20);
        CHECK(swept.failed.empty());
        CHECK(swept.complete);
        CHECK(std::filesystem::is_empty(temporary("ann")));
        CHECK(std::filesystem::is_empty(temporary("bob")));
        CHECK(left("carl") == 1);
    }

    TEST_CASE_FIXTURE(Workspace, "it waits for nobody, ends when told, and makes nothing")
    {
        CHECK(sweep().files == 0);
        CHECK_FALSE(std::filesystem::exists(root));
        Saver(root, 3, "ann").kill();
        std::stop_source stop;
        stop.request_stop();
        CHECK_FALSE(sweep(stop.get_token()).complete);
        CHECK_FALSE(sweep_workspace(root, Deadline::after(std::chrono::seconds(0))).complete);
        {
            const UniqueFd held(::open((root + "/" + sha256_hex("ann")).c_str(),
                                       O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            REQUIRE(::flock(held.get(), LOCK_SH) == 0); // somebody reads
            const auto began = std::chrono::steady_clock::now();
            const auto swept = sweep();
            CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));
            CHECK(swept.files == 0);
            CHECK(swept.failed.empty());
        }
        CHECK(left() == 3);
        CHECK(sweep().files == 3);
    }

    TEST_CASE_FIXTURE(Workspace, "two saves of one process are each held by their own")
    {
        const auto other = workspace::make_directory_store(root);
        auto first = write(*store, 2);
        auto second = write(*other, 3);
        CHECK(sweep().files == 0);
        CHECK(other->commit(second, {}).size() == 3);
        second.clear();
        save(*other, "/x");
        CHECK(left() == 2);
        CHECK(store->commit(first, {}).size() == 2);
    }

    TEST_CASE_FIXTURE(Workspace, "a mark is held from its beginning, and what is none never")
    {
        const workspace::WriterArea writer(root, "ann");
        const workspace::Area area = workspace::open_area(root, "ann");
        const auto name = writer.new_name();
        const auto mark = workspace::mark_of(name);
        REQUIRE(mark);
        CHECK(workspace::is_held(area.temporary.get(), *mark));
        CHECK_FALSE(workspace::is_held(area.temporary.get(), "000000000000001"));
        CHECK(workspace::is_held(-1, "000000000000001")); // not known
        for (const auto* none : {"", "-", "0123456789abcdef0123456789abcdef", "00000000000000-x",
                                 "-00000000000001-x", "00000000000000g-x", "0000000000000001-x"}) {
            CAPTURE(none);
            CHECK_FALSE(workspace::mark_of(none));
        }
    }

    TEST_CASE_FIXTURE(Workspace, "links that somebody planted lead no sweep away")
    {
        save(*store, "/a");
        const std::string victim = directory / "victim";
        std::filesystem::create_directory(victim);
        std::ofstream(victim + "/x") << "x";
        std::filesystem::create_directory_symlink(victim, temporary() + "/link");
        std::filesystem::create_directory_symlink(victim, temporary() + "/000000000000001-x");
        std::filesystem::create_directory_symlink(directory.path(), root + "/link");
        // A principal's folder that is one, and a folder of temporary files that is one.
        std::filesystem::create_directory(directory / "fake");
        std::filesystem::create_directory(directory / "fake/files");
        std::filesystem::create_directory_symlink(victim, directory / "fake/tmp");
        std::filesystem::create_directory_symlink(directory / "fake",
                                                  root + "/" + sha256_hex("bob"));
        std::filesystem::rename(directory / "fake", root + "/" + sha256_hex("carl"));
        (void)sweep();
        make_old();
        (void)sweep();
        CHECK(std::filesystem::exists(victim + "/x"));
        CHECK(std::filesystem::is_empty(temporary()));
    }

    TEST_CASE_FIXTURE(Workspace, "of the files of earlier releases the old ones go")
    {
        save(*store, "/a");
        std::ofstream(temporary() + "/0123456789abcdef") << "half";
        std::ofstream(temporary() + "/fedcba9876543210.old") << "replaced";
        CHECK(sweep().files == 1);
        CHECK(left() == 1); // its writer may live
        make_old();
        save(*store, "/b");
        CHECK(left() == 0);
    }

    TEST_CASE_FIXTURE(Workspace, "what a killed save had made visible is taken back, then removed")
    {
        Saver saver(root, 2, "ann");
        const auto first = std::filesystem::directory_iterator(temporary())->path();
        std::filesystem::create_directory(temporary() + "/../files/d");
        std::ofstream(temporary() + "/../journal")
            << first.filename().string() << " 0 /d/0" << '\0';
        std::filesystem::rename(first, temporary() + "/../files/d/0");
        saver.kill();
        CHECK(sweep().files == 1);
        CHECK_FALSE(std::filesystem::exists(temporary() + "/../journal"));
        CHECK(std::filesystem::is_empty(temporary()));
        CHECK(std::filesystem::is_empty(temporary() + "/../files"));
    }

    TEST_CASE_FIXTURE(Workspace, "of one principal that cannot be swept it is told, the others are")
    {
        Saver(root, 3, "ann").kill();
        Saver(root, 2, "bob").kill();
        std::ofstream(temporary() + "/../journal") << "what is this";
        const auto swept = sweep();
        CHECK(swept.failed.size() == 1);
        CHECK(swept.files == 2);
        CHECK(swept.complete);
        REQUIRE(::chmod(root.c_str(), 0777) == 0);
        CHECK(error_of([&] { (void)sweep(); }) == ErrorCode::permission_denied);
    }
}
