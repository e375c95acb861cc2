#include "server/transport/stdio.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

struct Ends {
    UniqueFd read;
    UniqueFd write;
};

Ends make_pipe()
{
    std::array<int, 2> fds{};
    REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Ends make_socket()
{
    std::array<int, 2> fds{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::string read_text(const UniqueFd& fd, std::size_t size)
{
    std::string buffer(size, '\0');
    std::size_t taken = 0;
    while (taken < size) {
        const auto count = ::read(fd.get(), buffer.data() + taken, size - taken);
        REQUIRE(count > 0);
        taken += static_cast<std::size_t>(count);
    }
    return buffer;
}

/// Reads `size` bytes; the last of them.
char read_all(const UniqueFd& fd, std::size_t size)
{
    return read_text(fd, size).back();
}

} // namespace

TEST_CASE("what may be left out is, while the client does not read, and nothing waits for it")
{
    const std::string message(1000, 'x');
    for (const bool socket : {false, true}) {
        CAPTURE(socket);
        auto output = socket ? make_socket() : make_pipe();
        transport::Stdio stdio(make_pipe().read, std::move(output.write), 1000);
        const auto sink = stdio.sink();
        std::size_t sent = 0;
        while (sink->offer(message)) {
            sent += message.size() + 1;
        }
        CHECK(sent > 0);
        CHECK_FALSE(sink->offer("y"));
        // One that may not be left out waits, and the others are not kept up by it.
        std::jthread writer([&] { sink->send(std::string(1'000'000, 'z')); });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        CHECK_FALSE(sink->offer("y"));
        CHECK(read_all(output.read, sent) == '\n');
        CHECK(read_all(output.read, 1'000'001) == '\n');
        writer.join();
        CHECK(sink->offer("y"));
        CHECK(read_all(output.read, 1) == 'y');
    }
}

TEST_CASE("to a client that is gone nothing can be offered")
{
    auto* const before = std::signal(SIGPIPE, SIG_IGN); // as the server has it
    auto output = make_pipe();
    transport::Stdio stdio(make_pipe().read, std::move(output.write), 1000);
    output.read.reset();
    stdio.sink()->send("x");
    CHECK_FALSE(stdio.sink()->offer("y"));
    CHECK(stdio.lost_output() == 0);
    std::signal(SIGPIPE, before);
}

TEST_CASE("what is said while another one waits for the client is written along, and waits no more")
{
    auto output = make_pipe();
    transport::Stdio stdio(make_pipe().read, std::move(output.write), 1000);
    const auto sink = stdio.sink();
    const std::string large(1'000'000, 'z');
    std::jthread writer([&] { sink->send(large); });
    CHECK(read_all(output.read, 1) == 'z'); // it is at work
    std::atomic<int> said = 0;
    std::atomic<bool> read = false;
    std::jthread beside([&] {
        sink->send("a");
        sink->send("b");
        sink->when_read([&] { read = true; }, {});
        said = 2;
    });
    CHECK(tests::becomes_true([&] { return said == 2; }));
    // But not without end: what is long waits until all of it is written.
    std::jthread longer([&] {
        sink->send(large);
        ++said;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(said == 2);
    CHECK_FALSE(read);
    CHECK(read_text(output.read, large.size()) == large.substr(1) + '\n');
    CHECK(read_text(output.read, 4) == "a\nb\n");
    CHECK(read_text(output.read, large.size() + 1) == large + '\n');
    longer.join();
    CHECK(said == 3);
    stdio.settle(std::chrono::seconds(10));
    CHECK(read);
}

TEST_CASE("what may be left out is not because another one writes to a client that reads")
{
    auto output = make_pipe();
    transport::Stdio stdio(make_pipe().read, std::move(output.write), 1000);
    const auto sink = stdio.sink();
    constexpr int most = 10'000; // all of it fits into the pipe, so nobody waits for a reader
    std::atomic<bool> done = false;
    std::jthread writer([&] {
        for (int i = 0; i < most; ++i) {
            sink->send("a");
        }
        done = true;
    });
    int refused = 0;
    int offered = 0;
    while (!done && offered < most) {
        ++offered;
        refused += sink->offer("b") ? 0 : 1;
    }
    writer.join();
    CHECK(offered > 0);
    CHECK(refused == 0);
    stdio.settle(std::chrono::seconds(10));
    const auto all = 2 * static_cast<std::size_t>(most + offered - refused);
    CHECK(read_all(output.read, all) == '\n');
}
