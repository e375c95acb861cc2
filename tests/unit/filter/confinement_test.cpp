#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/proxy/confinement.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;

namespace {

constexpr std::uint32_t somebody = 65534;

/// Of attempts: what is no attempt of this process ends it otherwise.
using Attempts = std::vector<std::pair<const char*, std::function<bool()>>>;

bool is_refused(long result)
{
    return result == -1 && (errno == EPERM || errno == EACCES);
}

/// Names of those that were not refused, by a child that is a proxy.
std::string allowed(const Attempts& attempts)
{
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        try {
            filter::confine_proxy(somebody);
            for (const auto& [name, refused] : attempts) {
                if (!refused()) {
                    (void)!::write(to.get(), name, std::string(name).size());
                }
            }
            ::_exit(0);
        } catch (const std::exception&) {
            ::_exit(1);
        }
    }
    to.reset();
    std::string text;
    std::array<char, 256> buffer{};
    for (ssize_t size = 0; (size = ::read(from.get(), buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    return text;
}

} // namespace

TEST_CASE("a proxy that was taken over ends and hinders nobody of its user")
{
    // Itself, whom nothing but the filter keeps from it.
    CHECK(allowed({
                      {"raise ", [] { return is_refused(::raise(0)); }},
                      {"kill ", [] { return is_refused(::kill(::getpid(), 0)); }},
                      {"sigqueue ", [] { return is_refused(::sigqueue(::getpid(), SIGUSR1, {})); }},
                      {"limit ",
                       [] {
                           rlimit now{};
                           return is_refused(::prlimit(::getpid(), RLIMIT_CPU, nullptr, &now));
                       }},
                      {"priority ", [] { return is_refused(::setpriority(PRIO_PROCESS, 0, 1)); }},
                      {"affinity ",
                       [] {
                           cpu_set_t set;
                           CPU_ZERO(&set);
                           CPU_SET(0, &set);
                           return is_refused(::sched_setaffinity(0, sizeof set, &set));
                       }},
                      {"owner ", [] { return is_refused(::fcntl(0, F_SETOWN, ::getpid())); }},
                      {"signal ", [] { return is_refused(::fcntl(0, F_SETSIG, SIGKILL)); }},
                  })
              .empty());
    // What it needs.
    CHECK(
        allowed(
            {
                {"limit ",
                 [] {
                     rlimit now{};
                     return ::getrlimit(RLIMIT_NOFILE, &now) == 0;
                 }},
                {"flags ", [] { return ::fcntl(0, F_GETFL) >= 0; }},
                {"null ", [] { return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)).valid(); }},
                {"resolver ",
                 [] { return UniqueFd(::open("/etc/passwd", O_RDONLY | O_CLOEXEC)).valid(); }},
                {"socket ",
                 [] { return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)).valid(); }},
            })
            .empty());
}

TEST_CASE("where there is Landlock, a proxy that was taken over changes no file of its user")
{
    if (sys::landlock_create_ruleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1) {
        return;
    }
    const tests::TemporaryDirectory directory;
    const std::string path = directory / "file";
    REQUIRE(UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)).valid());
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    REQUIRE(::chmod((directory / "").c_str(), 0777) == 0);
    CHECK(allowed(
              {
                  {"open ", [&] { return is_refused(::open(path.c_str(), O_WRONLY | O_CLOEXEC)); }},
                  {"make ",
                   [&] {
                       return is_refused(
                           ::open((path + "2").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
                   }},
                  {"remove ", [&] { return is_refused(::unlink(path.c_str())); }},
                  {"rename ",
                   [&] { return is_refused(::rename(path.c_str(), (path + "3").c_str())); }},
              })
              .empty());
}
