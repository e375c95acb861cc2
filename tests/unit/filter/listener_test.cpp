// The proxy as the process that it is: its threads, and its end.

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/proxy/listener.hpp"
#include "sandbox/protocol/messages/denial.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/unit/filter/loopback.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth::tests;
using berth::UniqueFd;
using berth::filter::SecretBook;

namespace {

[[noreturn]] void serve_from(UniqueFd listener, int control)
{
    const berth::filter::SessionSockets sockets{
        .connections = std::move(listener),
        .names = UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))};
    const SecretBook secrets({});
    berth::filter::serve_session(control, sockets, open_loopback(), secrets, nullptr, nullptr);
}

/// In a process of its own, until `guest` ends.
struct ForkedProxy {
    /// `prepare`: in that process, before it serves.
    template <class Prepare>
    explicit ForkedProxy(Prepare prepare)
    {
        std::array<int, 2> control{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control.data()) == 0);
        guest.reset(control[0]);
        const UniqueFd proxys(control[1]);
        UniqueFd listener;
        std::tie(listener, address) = listening_on_loopback();
        pid = ::fork();
        REQUIRE(pid >= 0);
        if (pid == 0) {
            guest.reset();
            prepare();
            serve_from(std::move(listener), proxys.get());
        }
    }

    [[nodiscard]] UniqueFd connect() const
    {
        UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
                          sizeof address) == 0);
        return client;
    }

    UniqueFd guest;
    sockaddr_in address{};
    pid_t pid = -1;
};

} // namespace

TEST_CASE("a connection for which the host has no thread is told")
{
    ForkedProxy proxy([] {
        const rlimit none{0, 0}; // root would have threads in spite of it
        if (::setrlimit(RLIMIT_NPROC, &none) != 0 ||
            (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0)) {
            ::_exit(1);
        }
    });
    const auto client = proxy.connect();
    CHECK(received(client.get()).empty());
    std::array<char, 4096> buffer{};
    const ssize_t size = ::recv(proxy.guest.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    REQUIRE(size > 0);
    const auto denial = berth::protocol::decode<berth::protocol::Denial>(
        std::string_view(buffer.data(), static_cast<std::size_t>(size)));
    CHECK(denial.kind == "proxy");
    CHECK(denial.reason.find("no thread") != std::string::npos);
    proxy.guest.reset();
    ::waitpid(proxy.pid, nullptr, 0);
}

TEST_CASE("a proxy ends with its guest, whatever its threads are at")
{
    ForkedProxy proxy([] {});
    // Each of these is read by a thread, which waits for the rest of a request.
    std::vector<UniqueFd> clients;
    for (int i = 0; i < 20; ++i) {
        auto client = proxy.connect();
        REQUIRE(::send(client.get(), "GET", 3, 0) == 3);
        clients.push_back(std::move(client));
    }
    proxy.guest.reset();
    int status = 0;
    REQUIRE(::waitpid(proxy.pid, &status, 0) == proxy.pid);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
