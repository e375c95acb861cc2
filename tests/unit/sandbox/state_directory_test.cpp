#include "sandbox/base/error.hpp"
#include "sandbox/state_directory.hpp"
#include "tests/unit/descriptor_limit.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace berth::sandbox;

namespace {

/// Message and hint of the refusal, the same of both functions; empty: none.
std::string refusal(const std::string& path)
{
    std::string texts;
    for (auto* open : {&find_state_directory, &open_state_directory}) {
        try {
            (void)open(path);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::sandbox_unavailable);
            CHECK_FALSE(error.hint().empty());
            texts = std::string(error.what()) + "; " + error.hint();
        }
    }
    return texts;
}

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_SUITE("sandbox/state_directory")
{
    TEST_CASE("network file systems are known by their numbers")
    {
        CHECK(network_file_system(0x6969) == "NFS");
        CHECK(network_file_system(0x01021997) == "9p");
        CHECK(network_file_system(0xFF534D42) == "SMB");
        CHECK(network_file_system(static_cast<std::int32_t>(0xFE534D42)) == "SMB");
        CHECK(network_file_system(0xEF53).empty());     // ext4
        CHECK(network_file_system(0x01021994).empty()); // tmpfs
        CHECK(network_file_system(0x794c7630).empty()); // overlayfs
    }

    TEST_CASE("a limit of the process is no fault of the directory")
    {
        const tests::TemporaryDirectory folder;
        std::string texts;
        {
            const tests::DescriptorLimit limit;
            texts = refusal(folder.path());
        }
        CHECK(has(texts, "as many files open as it may have"));
        CHECK(has(texts, "ulimit -n"));
        CHECK_FALSE(has(texts, "BERTH_STATE_DIR"));
        CHECK(write_error(EMFILE, "it", "open it", "another hint").hint().find("ulimit -n") !=
              std::string::npos);
        CHECK(write_error(EROFS, "it", "open it", "another hint").hint() == "another hint");
    }

    TEST_CASE("a disk that fails is no fault of the directory's rights")
    {
        CHECK(has(write_error(EIO, "it", "open it", "another hint").hint(), "kernel's log"));
    }

    TEST_CASE("looking for it makes nothing, opening it does")
    {
        const tests::TemporaryDirectory folder;
        CHECK_FALSE(find_state_directory(folder / "a/b"));
        CHECK(std::filesystem::is_empty(folder.path()));
        CHECK(open_state_directory(folder / "a/b"));
        CHECK(find_state_directory(folder / "a/b"));
    }

    TEST_CASE("chmod is advised for berth's own folder only")
    {
        const tests::TemporaryDirectory folder;
        REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
        CHECK(has(refusal(folder.path()), "may be written to by other users; run `chmod 700 '"));
        std::filesystem::create_directory(folder / "sessions");
        std::ofstream(folder / "installation") << "its number";
        CHECK(has(refusal(folder.path()), "chmod 700"));
        std::ofstream(folder / "notes.txt").flush();
        const auto foreign = refusal(folder.path());
        CHECK_FALSE(has(foreign, "chmod"));
        CHECK(has(foreign, "--state-dir"));
    }

    TEST_CASE("another user's folder is told as such")
    {
        if (::geteuid() == 0) {
            const tests::TemporaryDirectory folder;
            REQUIRE(::chown(folder.path().c_str(), 1, 1) == 0);
            const auto text = refusal(folder.path());
            CHECK(has(text, "belongs to another user, "));
            CHECK_FALSE(has(text, "chmod"));
            REQUIRE(::chown(folder.path().c_str(), 0, 0) == 0);
        } else {
            CHECK(has(refusal("/usr"), "belongs to another user, root"));
        }
    }

    TEST_CASE("one that cannot be written to is told as such")
    {
        const tests::TemporaryDirectory folder;
        const std::string path = folder.path();
        const auto told = [&] { return has(refusal(path), "cannot be written to: "); };
        if (::geteuid() != 0) {
            REQUIRE(::chmod(path.c_str(), 0500) == 0);
            CHECK(told());
            REQUIRE(::chmod(path.c_str(), 0700) == 0);
            return;
        }
        // Nothing but a read-only mount keeps root from writing.
        const pid_t child = ::fork();
        if (child == 0) {
            const bool mounted =
                ::unshare(CLONE_NEWNS) == 0 &&
                ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
                ::mount("none", path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) ==
                    0;
            ::_exit(!mounted ? 1 : told() ? 0 : 2);
        }
        int status = -1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }

    TEST_CASE("what can never be made is refused before anything tries, with the remedy")
    {
        CHECK(has(refusal("/proc/berth/x"), "--state-dir"));
        CHECK(has(refusal("/dev/null/x"), "Not a directory"));
        CHECK(has(refusal("/dev/null"), "/dev/null is no folder (Not a directory)"));
        const tests::TemporaryDirectory folder;
        const auto file = folder.path() + "/file";
        std::ofstream(file) << "x";
        CHECK(has(refusal(file), "the state directory " + file + " cannot be used: " + file +
                                     " is a file (Not a directory)"));
        CHECK(has(refusal(file + "/below"), ": " + file + " is a file (Not a directory)"));
    }

    TEST_CASE("the hint for a full disk names the line of `berth config` that shows where it is")
    {
        const auto error = full_disk(ENOSPC, "no sandbox can be made");
        REQUIRE(error.has_value());
        CHECK(has(error->hint(), "`berth config` shows its path (state_dir)"));
        CHECK_FALSE(full_disk(EACCES, "no sandbox can be made").has_value());
    }
}
