#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/server.hpp"
#include "tests/unit/descriptor_limit.hpp"
#include "tests/unit/seccomp_program.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;

namespace {

/// Until the process ends epoll watches no more, as when a user's max_user_watches is reached.
bool refuse_watches()
{
    const std::array program{
        sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_epoll_ctl},
        sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args) + 8},
        sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, EPOLL_CTL_ADD},
        sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSPC},
        sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    return tests::install_seccomp_program(program);
}

struct Listener {
    Listener()
    {
        address.sun_family = AF_UNIX;
        (void)::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size);
        size = sizeof(address);
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
        (void)::listen(fd.get(), 8);
    }

    [[nodiscard]] UniqueFd connect() const
    {
        UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        (void)::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), size);
        return client;
    }

    UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_un address{};
    socklen_t size = sizeof(sa_family_t); // a free abstract name
};

/// The first connection finds no descriptor free, and what comes when there is one again no watch.
bool lives_without_descriptors_and_watches()
{
    Listener listener;
    guest::EventLoop loop;
    guest::Server server(loop, std::move(listener.fd), {.token = "secret", .generation = "g1"},
                         [](const auto&, auto) {});
    const auto client = listener.connect();
    std::optional<tests::DescriptorLimit> limit;
    limit.emplace();
    if (!refuse_watches()) {
        return false;
    }
    const auto begin = BootClock::now();
    (void)loop.call_at(begin + 150ms, [&] { limit.reset(); });
    (void)loop.call_at(begin + 600ms, [&] { loop.stop(); });
    try {
        loop.run();
    } catch (const std::exception&) {
        return false;
    }
    char byte = 0; // it was taken, and closed since it cannot be watched
    return ::recv(client.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

} // namespace

TEST_CASE("a guest lives on that finds no descriptor for a connection, and then no watch")
{
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::_exit(lives_without_descriptors_and_watches() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
}
