#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/operations.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::guest::testing {

/// A machine of a test: <base>/home is the home, <base>/outside is out of bounds.
struct Machine {
    explicit Machine(const std::filesystem::path& place = "/tmp")
    {
        auto name = (place / "berth-files-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        base = name;
        home = base + "/home";
        ::mkdir(home.c_str(), 0755);
        ::mkdir((base + "/outside").c_str(), 0755);
        config.home = home;
        session.set_cwd(home);
    }

    ~Machine()
    {
        std::error_code ignored;
        std::filesystem::remove_all(base, ignored);
    }

    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    void put(const std::string& name, std::string_view content, unsigned mode = 0644) const
    {
        const std::string path = home + "/" + name;
        const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        REQUIRE(fd.valid());
        write_full(fd.get(), content);
        REQUIRE(::fchmod(fd.get(), mode) == 0);
    }

    void link(const std::string& target, const std::string& name) const
    {
        REQUIRE(::symlink(target.c_str(), (home + "/" + name).c_str()) == 0);
    }

    [[nodiscard]] std::string get(const std::string& name) const
    {
        struct stat status = {};
        REQUIRE(::stat((home + "/" + name).c_str(), &status) == 0);
        return read_file_limited(AT_FDCWD, home + "/" + name,
                                 static_cast<std::size_t>(status.st_size) + 1);
    }

    [[nodiscard]] struct stat status(const std::string& name) const
    {
        struct stat status = {};
        REQUIRE(::lstat((home + "/" + name).c_str(), &status) == 0);
        return status;
    }

    [[nodiscard]] bool exists(const std::string& name) const
    {
        return ::access((home + "/" + name).c_str(), F_OK) == 0;
    }

    /// Entries of a directory, temporary files that were left behind included.
    [[nodiscard]] int count(const std::string& directory = "home") const
    {
        int entries = 0;
        for ([[maybe_unused]] const auto& entry :
             std::filesystem::directory_iterator(base + "/" + directory)) {
            ++entries;
        }
        return entries;
    }

    std::string base;
    std::string home;
    protocol::GuestConfig config;
    SessionState session{"/"};
    CallContext context{config, session, {}, {}, {}};
};

/// The Error that `action` throws; fails the test when it throws none.
template <class Action>
Error error_of(Action action)
{
    try {
        action();
    } catch (const Error& error) {
        CHECK_FALSE(error.hint().empty());
        return error;
    }
    FAIL("no error");
    return {ErrorCode::internal, "unreachable"};
}

inline bool write_map(const char* path, const std::string& text)
{
    const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
    return file &&
           ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

inline bool may_not(int error)
{
    return error == EPERM || error == EACCES;
}

/// False where this user may have no mounts: an unprivileged container, a host that narrows what a
/// user namespace can do.
inline bool enter_own_mounts()
{
    const auto uid = ::geteuid();
    const auto gid = ::getegid();
    if (::unshare(CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) != 0) {
        REQUIRE(may_not(errno));
        return false;
    }
    // Who is not mapped makes no file on a file system that is mounted in there.
    if (uid != 0 && (!write_map("/proc/self/setgroups", "deny") ||
                     !write_map("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") ||
                     !write_map("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1"))) {
        REQUIRE(may_not(errno));
        return false;
    }
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        REQUIRE(may_not(errno));
        return false;
    }
    return true;
}

/// Runs `action` in a child as an ordinary user, for whom modes mean something; the error word it
/// ended with, "" when it threw none.
template <class Action>
std::string as_nobody(Action action)
{
    const Pipe pipe = make_pipe();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::string word;
        if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) {
            word = "setuid failed";
        } else {
            try {
                action();
            } catch (const Error& error) {
                word = to_string(error.code());
            } catch (const std::exception& error) {
                word = error.what();
            }
        }
        write_full(pipe.write.get(), word + "\n");
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    char word[256];
    const auto size = ::read(pipe.read.get(), word, sizeof(word));
    REQUIRE(size > 0);
    return {word, static_cast<std::size_t>(size - 1)};
}

/// Runs `action` in a child with mounts of its own, as root or as an ordinary user; what it
/// returned (below 100), 0 where a user may have no namespaces, so that nothing can be shown.
template <class Action>
int in_own_mounts(Action action)
{
    std::fflush(stdout);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        // What a check throws must not go on with the other tests.
        try {
            ::_exit(enter_own_mounts() ? action() : 0);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
        } catch (...) {
            std::fputs("a check failed in the child\n", stderr);
        }
        std::cout.flush();
        std::fflush(stdout);
        ::_exit(100);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

inline protocol::ReadFileRequest read_request(const std::string& path, std::uint64_t offset = 0,
                                              std::uint64_t limit = 2000,
                                              std::uint64_t budget = 50'000)
{
    protocol::ReadFileRequest request;
    request.path = path;
    request.offset = offset;
    request.limit = limit;
    request.budget = budget;
    request.image_limit = 5UL * 1024 * 1024;
    return request;
}

} // namespace berth::guest::testing
