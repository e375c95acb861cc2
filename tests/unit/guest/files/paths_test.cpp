#include "sandbox/guest/paths.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <chrono>
#include <csignal>
#include <future>
#include <stop_token>
#include <thread>

using namespace berth;
using namespace berth::guest;
using berth::guest::testing::error_of;
using berth::guest::testing::Machine;

TEST_CASE("a path as the caller wrote it becomes absolute")
{
    Machine machine;
    machine.config.home = "/home/user";
    machine.session.set_cwd("/usr/lib");
    const auto absolute = [&](std::string_view path) {
        return absolute_path(path, machine.context);
    };
    CHECK(absolute("a.txt") == "/usr/lib/a.txt");
    CHECK(absolute("../a.txt") == "/usr/lib/../a.txt");
    CHECK(absolute("/etc/passwd") == "/etc/passwd");
    CHECK(absolute("~") == "/home/user");
    CHECK(absolute("~/x y") == "/home/user/x y");
    CHECK(absolute("~other/x") == "/usr/lib/~other/x");
    CHECK(absolute("-rf") == "/usr/lib/-rf");
    CHECK(absolute("$(id)`id`;") == "/usr/lib/$(id)`id`;");
    machine.session.set_cwd("/");
    CHECK(absolute("a") == "/a");
    // Removed meanwhile: a write must not make it anew.
    machine.session.set_cwd("/usr/lib/gone");
    CHECK(error_of([&] { (void)absolute("a"); }).code() == ErrorCode::not_found);
    CHECK(absolute("/etc") == "/etc");
}

TEST_CASE("paths that no kernel takes are refused")
{
    const Machine machine;
    const auto code = [&](std::string_view path) {
        return error_of([&] { (void)absolute_path(path, machine.context); }).code();
    };
    CHECK(code("") == ErrorCode::invalid_path);
    CHECK(code(std::string_view("a\0b", 3)) == ErrorCode::invalid_path);
    CHECK(code("/" + std::string(4095, 'a')) == ErrorCode::invalid_path);
    CHECK_NOTHROW((void)absolute_path("/" + std::string(4094, 'a'), machine.context));
    CHECK(error_of([&] { (void)open_readable(std::string(256, 'a'), machine.context); }).code() ==
          ErrorCode::invalid_path);
}

TEST_CASE("the place of a deleted file is not a path")
{
    const Machine machine;
    machine.put("gone", "x");
    machine.put("odd (deleted)", "x");
    const UniqueFd gone = open_readable("gone", machine.context);
    const UniqueFd odd = open_readable("odd (deleted)", machine.context);
    CHECK(path_of(gone.get()) == machine.home + "/gone");
    ::unlink((machine.home + "/gone").c_str());
    CHECK(error_of([&] { (void)path_of(gone.get()); }).code() == ErrorCode::not_found);
    CHECK(path_of(odd.get()) == machine.home + "/odd (deleted)");
}

TEST_CASE("writing tools are bounded by whole components")
{
    Machine machine;
    machine.config.home = "/nonexistent/user";
    machine.config.writable_roots = {"/tmp/", "", "/srv/data"};
    const auto allowed = [&](const std::string& real) {
        try {
            require_writable(real, machine.context);
            return true;
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_path);
            CHECK(error.hint().find("/nonexistent/user") != std::string::npos);
            return false;
        }
    };
    CHECK(allowed("/nonexistent/user"));
    CHECK(allowed("/nonexistent/user/a/b"));
    CHECK(allowed("/tmp/x"));
    CHECK(allowed("/tmp"));
    CHECK(allowed("/srv/data/x"));
    CHECK_FALSE(allowed("/nonexistent/user2/a"));
    CHECK_FALSE(allowed("/tmp-evil/x"));
    CHECK_FALSE(allowed("/srv/database"));
    CHECK_FALSE(allowed("/etc/passwd"));
    CHECK_FALSE(allowed("/"));
    machine.config.path_policy = "home";
    CHECK(allowed("/nonexistent/user/a"));
    CHECK_FALSE(allowed("/tmp/x"));
}

TEST_CASE("reading looks anywhere, unless the policy narrows it to the home")
{
    Machine machine;
    CHECK_NOTHROW((void)open_readable("/etc/passwd", machine.context));
    machine.config.path_policy = "home";
    machine.put("a", "x");
    machine.link("/etc/passwd", "link");
    machine.link("/etc", "etc");
    CHECK_NOTHROW((void)open_readable("a", machine.context));
    for (const char* path :
         {"/etc/passwd", "link", "etc/passwd", "../outside", "../home/../outside", "//etc/passwd",
          "/etc/no-such-file", "/no-such-directory/x"}) {
        CAPTURE(path);
        CHECK(error_of([&] { (void)open_readable(path, machine.context); }).code() ==
              ErrorCode::invalid_path);
    }
    const auto said_of = [&](const char* path) {
        const auto error = error_of([&] { (void)open_readable(path, machine.context); });
        return std::string(error.what());
    };
    CHECK(said_of("/no-such-directory/x").starts_with("/no-such-directory/x is outside of "));
    CHECK(said_of("etc/no-such/file").starts_with("/etc/no-such is outside of "));
}

TEST_CASE("the narrow policy lets what is kept of commands' outputs be read, and no more")
{
    Machine machine;
    machine.config.path_policy = "home";
    machine.config.spill_directory = machine.base + "/outside";
    const std::string& outputs = machine.config.spill_directory;
    machine.put("../outside/1.stdout", "x");
    CHECK_NOTHROW((void)open_readable(outputs + "/1.stdout", machine.context));
    CHECK(error_of([&] { (void)open_readable(outputs + "/2.stdout", machine.context); }).code() ==
          ErrorCode::not_found);
    CHECK(error_of([&] { require_writable(outputs + "/1.stdout", machine.context); }).code() ==
          ErrorCode::invalid_path);
    // A command may have put a link in its place.
    machine.link("/etc", "../elsewhere");
    machine.config.spill_directory = machine.base + "/elsewhere";
    CHECK(error_of([&] {
              (void)open_readable(machine.base + "/elsewhere/passwd", machine.context);
          }).code() == ErrorCode::invalid_path);
}

TEST_CASE("the guest's own descriptors and memory are not read")
{
    const Machine machine;
    const UniqueFd secret(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    const std::string fd = "/proc/self/fd/" + std::to_string(secret.get());
    CHECK(error_of([&] { (void)open_readable(fd, machine.context); }).code() ==
          ErrorCode::invalid_path);
    for (const char* path : {"/proc/self/mem", "/proc/self/environ", "/proc/thread-self/environ",
                             "/proc/self/fdinfo", "/proc/self/task"}) {
        CAPTURE(path);
        CHECK(error_of([&] { (void)open_readable(path, machine.context); }).code() ==
              ErrorCode::permission_denied);
    }
    CHECK_NOTHROW((void)open_readable("/proc/self/status", machine.context));
    CHECK_NOTHROW((void)open_readable("/proc/meminfo", machine.context));
}

TEST_CASE("what /proc has of the guest's threads is not read either")
{
    const Machine machine;
    std::promise<pid_t> started;
    const std::jthread worker([&](const std::stop_token& stop) {
        started.set_value(::gettid());
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    const std::string thread = "/proc/" + std::to_string(started.get_future().get());
    const std::string main = "/proc/" + std::to_string(::getpid());
    for (const std::string& own : {thread, main}) {
        for (const char* name : {"", "/environ", "/mem", "/fdinfo", "/auxv", "/task"}) {
            CAPTURE(own + name);
            CHECK(error_of([&] { (void)open_readable(own + name, machine.context); }).code() ==
                  ErrorCode::permission_denied);
        }
        CHECK_NOTHROW((void)open_readable(own + "/status", machine.context));
    }
    const pid_t other = ::fork();
    if (other == 0) {
        ::pause();
        ::_exit(0);
    }
    CHECK_NOTHROW(
        (void)open_readable("/proc/" + std::to_string(other) + "/environ", machine.context));
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
}

TEST_CASE("a missing path is told with what is near")
{
    const Machine machine;
    machine.put("README.md", "x");
    ::mkdir((machine.home + "/source").c_str(), 0755);
    machine.link("nowhere", "dangling");
    const auto hint = [&](const std::string& path) {
        const Error error = error_of([&] { (void)open_readable(path, machine.context); });
        CHECK(error.code() == ErrorCode::not_found);
        return error.hint();
    };
    CHECK(hint("readme.md") == "did you mean " + machine.home + "/README.md?");
    CHECK(hint("REDME.md") == "did you mean " + machine.home + "/README.md?");
    machine.put("f.txt", "x");
    machine.put("top.c", "x");
    for (const char* far : {"zz.txt", "nope.c", "q", " "}) { // nothing but the ending in common
        CAPTURE(far);
        CHECK(hint(far).find("did you mean") == std::string::npos);
    }
    CHECK(hint("tpo.c") == "did you mean " + machine.home + "/top.c?");
    CHECK(hint("completely-else") ==
          "list the directory " + machine.home + " to see what is there");
    CHECK(hint("sorce/main.cpp") == "the directory " + machine.home +
                                        "/sorce does not exist; did you mean " + machine.home +
                                        "/source?");
    for (const char* path : {"README.md/x", "README.md/"}) {
        const Error error = error_of([&] { (void)open_readable(path, machine.context); });
        CHECK(error.code() == ErrorCode::invalid_path);
        CHECK(error.what() == machine.home + "/README.md is a file, not a directory");
    }
    CHECK(hint("dangling").find("symbolic link to something") != std::string::npos);
}
