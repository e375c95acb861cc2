#include "sandbox/base/error.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/unix_channel.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>

using namespace std::chrono_literals;
using berth::connect_unix;
using berth::Deadline;
using berth::ErrorCode;
using berth::listen_unix;
using berth::UniqueFd;
using berth::sandbox::UnixChannel;
using berth::tests::error_of;

TEST_CASE("a socket below a path longer than an address")
{
    const berth::tests::TemporaryDirectory folder;
    const std::string deep = folder / (std::string(120, 'a') + "/" + std::string(120, 'b'));
    std::filesystem::create_directories(deep);
    const std::string path = deep + "/guest.sock";
    const auto listener = listen_unix(path);
    struct stat status{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600);
    UnixChannel channel(connect_unix(path, Deadline::after(1s)));
    const UniqueFd peer(::accept(listener.get(), nullptr, nullptr));
    REQUIRE(peer);
    channel.send("hello");
    std::array<char, 16> buffer{};
    CHECK(::recv(peer.get(), buffer.data(), buffer.size(), 0) == 5);
}

TEST_CASE("nobody listens: the session is lost; a socket file that was left is replaced")
{
    const berth::tests::TemporaryDirectory folder;
    const std::string path = folder / "s";
    const auto connect = [&] { (void)connect_unix(path, Deadline::after(1s)); };
    CHECK(error_of(connect) == ErrorCode::session_lost);
    (void)listen_unix(path);
    CHECK(error_of(connect) == ErrorCode::session_lost);
    const auto listener = listen_unix(path);
    CHECK_FALSE(error_of(connect).has_value());
    CHECK(error_of([&] {
              (void)connect_unix(folder / std::string(300, 'x'), Deadline::after(1s));
          }) == ErrorCode::backend_error);
}

TEST_CASE("hanging up waits until the other end is closed, or for the deadline")
{
    const auto pair = [] {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
        return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
    };
    auto [ours, theirs] = pair();
    std::atomic<bool> closed = false;
    std::thread peer([&closed, end = std::move(theirs)]() mutable {
        std::array<char, 16> buffer{};
        while (::recv(end.get(), buffer.data(), buffer.size(), 0) > 0) {
        }
        (void)::send(end.get(), "late", 4, MSG_NOSIGNAL);
        std::this_thread::sleep_for(50ms);
        closed = true;
        end.reset();
    });
    UnixChannel channel(std::move(ours));
    channel.hang_up(Deadline::after(20s));
    CHECK(closed);
    peer.join();
    auto [mine, silent] = pair();
    const auto begun = std::chrono::steady_clock::now();
    UnixChannel(std::move(mine)).hang_up(Deadline::after(50ms));
    CHECK(std::chrono::steady_clock::now() - begun >= 50ms);
}

TEST_CASE("a listener that does not accept: connect gives up at the deadline")
{
    const berth::tests::TemporaryDirectory folder;
    const auto listener = listen_unix(folder / "s");
    REQUIRE(::listen(listener.get(), 0) == 0);
    const auto first = connect_unix(folder / "s", Deadline::after(1s));
    const auto begin = std::chrono::steady_clock::now();
    CHECK(error_of([&] { (void)connect_unix(folder / "s", Deadline::after(50ms)); }) ==
          ErrorCode::backend_error);
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("receive: data, the deadline, the end, and a shutdown from another thread")
{
    int pair[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    UnixChannel channel{UniqueFd(pair[0])};
    UniqueFd peer(pair[1]);
    std::array<char, 16> buffer{};
    const auto receive = [&](const Deadline& deadline) {
        return channel.receive(buffer.data(), buffer.size(), deadline);
    };
    CHECK(error_of([&] { receive(Deadline::after(10ms)); }) == ErrorCode::backend_error);
    REQUIRE(::send(peer.get(), "abc", 3, 0) == 3);
    CHECK(receive(Deadline::after(1s)) == 3);
    std::thread other([&] {
        std::this_thread::sleep_for(20ms);
        channel.shutdown();
    });
    CHECK(receive(Deadline()) == 0);
    other.join();
    CHECK(error_of([&] { channel.send("x"); }) == ErrorCode::session_lost);
    CHECK(receive(Deadline::after(1s)) == 0);
}
