#include "server/transport/http_socket.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/loopback.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using transport::HttpSocket;

namespace {

struct SocketPair {
    SocketPair() : SocketPair(connected()) {}

    explicit SocketPair(std::array<int, 2> fds) : own(UniqueFd(fds[0])), peer(fds[1]) {}

    static std::array<int, 2> connected()
    {
        std::array<int, 2> fds{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0);
        return fds;
    }

    /// Where bytes that nobody has read reset the connection, and what was sent is acknowledged.
    static std::array<int, 2> over_tcp()
    {
        const auto [listener, address] = berth::tests::listening_on_loopback(1);
        const auto* const raw =
            reinterpret_cast<const sockaddr*>(&address); // NOLINT(*-reinterpret-cast)
        UniqueFd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(peer.get(), raw, sizeof(address)) == 0);
        const int own = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
        return {own, peer.release()};
    }

    void say(const std::string& text) const
    {
        REQUIRE(::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(text.size()));
    }

    HttpSocket::Head read_head(std::size_t limit = 100, std::chrono::milliseconds time = 10s)
    {
        return own.read_head(head, limit, Deadline::after(time));
    }

    std::string read(std::size_t size)
    {
        std::string text(size, '\0');
        const auto count = own.read(text.data(), size);
        REQUIRE(count >= 0);
        text.resize(static_cast<std::size_t>(count));
        return text;
    }

    HttpSocket own;
    UniqueFd peer;
    std::string head;
};

const std::string first_head = "GET /1 HTTP/1.1\r\nA: b\r\n\r\n";
const std::string second_head = "GET /2 HTTP/1.1\r\n\r\n";

} // namespace

TEST_CASE("heads that come together are read one after the other, with what is between them")
{
    SocketPair pair;
    pair.say("\r\n\r\n" + first_head + "body" + second_head + "x");
    CHECK(pair.read_head() == HttpSocket::Head::whole);
    CHECK(pair.head == first_head);
    CHECK(pair.own.has_more());
    pair.own.set_read_deadline(Deadline::after(10s));
    CHECK(pair.read(4) == "body");
    CHECK(pair.read_head() == HttpSocket::Head::whole);
    CHECK(pair.head == second_head);
    CHECK(pair.own.has_more());
    CHECK(pair.read(100'000) == "x");
    CHECK_FALSE(pair.own.has_more());
}

TEST_CASE("a head may come byte by byte")
{
    SocketPair pair;
    std::jthread writer([&] {
        for (const char byte : "\r\n" + first_head) {
            pair.say(std::string(1, byte));
        }
    });
    CHECK(pair.read_head() == HttpSocket::Head::whole);
    CHECK(pair.head == first_head);
    CHECK_FALSE(pair.own.has_more());
}

TEST_CASE("a head has its limit to the byte, also with what follows it")
{
    SocketPair fits;
    fits.say(first_head + std::string(200, 'x'));
    CHECK(fits.read_head(first_head.size()) == HttpSocket::Head::whole);
    CHECK(fits.head == first_head);
    SocketPair over;
    over.say(first_head);
    CHECK(over.read_head(first_head.size() - 1) == HttpSocket::Head::too_long);
    SocketPair endless;
    endless.say(std::string(100, 'x'));
    CHECK(endless.read_head(100) == HttpSocket::Head::too_long);
}

TEST_CASE("a head that does not end is late, and none at all is a connection that ends")
{
    SocketPair slow;
    slow.say("GET");
    const auto begin = std::chrono::steady_clock::now();
    CHECK(slow.read_head(100, 30ms) == HttpSocket::Head::late);
    CHECK(std::chrono::steady_clock::now() - begin >= 30ms);
    SocketPair cut;
    cut.say("GET");
    cut.peer.reset();
    CHECK(cut.read_head() == HttpSocket::Head::late);
    SocketPair silent;
    CHECK(silent.read_head(100, 10ms) == HttpSocket::Head::late);
    SocketPair closed;
    closed.say("\r\n");
    closed.peer.reset();
    CHECK(closed.read_head() == HttpSocket::Head::closed);
}

TEST_CASE("empty lines without end are no head, and are not taken for longer than one")
{
    SocketPair pair;
    pair.say(std::string(9000, '\n')); // more than is read at once
    CHECK(pair.read_head(100) == HttpSocket::Head::too_long);
    SocketPair few;
    few.say("\r\n\n" + first_head);
    CHECK(few.read_head() == HttpSocket::Head::whole);
    CHECK(few.head == first_head);
}

TEST_CASE("what is read has one deadline for all, and tells an end from a delay")
{
    SocketPair pair;
    pair.own.set_read_deadline(Deadline::after(30ms));
    std::array<char, 10> small{};
    CHECK(pair.own.read(small.data(), small.size()) == -1);
    pair.say("late"); // what is there is read all the same
    CHECK(pair.read(10) == "late");
    pair.own.set_read_deadline(Deadline::after(10s));
    pair.peer.reset();
    CHECK(pair.own.read(small.data(), small.size()) == 0);
    std::array<char, 8192> large{};
    CHECK(pair.own.read(large.data(), large.size()) == 0);
}

TEST_CASE("what is written arrives whole, however slowly it is read")
{
    SocketPair pair;
    const std::string text(3'000'000, 'x');
    std::atomic<bool> written{false};
    std::jthread writer([&] { written = pair.own.write(text); });
    std::string received;
    std::array<char, 65536> piece{};
    while (received.size() < text.size()) {
        const auto count = ::read(pair.peer.get(), piece.data(), piece.size());
        REQUIRE(count > 0);
        received.append(piece.data(), static_cast<std::size_t>(count));
    }
    writer.join();
    CHECK(written);
    CHECK(received == text);
}

TEST_CASE("to a peer that is gone nothing can be written, and no signal comes")
{
    SocketPair pair;
    CHECK_FALSE(pair.own.is_gone());
    pair.peer.reset();
    CHECK(pair.own.is_gone());
    CHECK_FALSE(pair.own.write("x"));
    SocketPair half;
    ::shutdown(half.peer.get(), SHUT_WR);
    CHECK(half.own.is_gone());
    SocketPair waits;
    waits.say("x");
    CHECK_FALSE(waits.own.is_gone());
}

TEST_CASE("a connection that is broken off wakes who reads and who writes")
{
    SocketPair pair;
    pair.own.set_read_deadline(Deadline::after(60s));
    std::atomic<ssize_t> read{1};
    std::atomic<bool> written{true};
    const auto begin = std::chrono::steady_clock::now();
    {
        std::jthread reader([&] {
            char byte = 0;
            read = pair.own.read(&byte, 1);
        });
        pair.own.break_off();
    }
    SocketPair full;
    {
        std::jthread writer([&] { written = full.own.write(std::string(50'000'000, 'x')); });
        CHECK(tests::becomes_true([&] {
            std::array<char, 1> byte{};
            return ::recv(full.peer.get(), byte.data(), 1, MSG_PEEK | MSG_DONTWAIT) == 1;
        }));
        full.own.break_off();
    }
    CHECK(read <= 0);
    CHECK_FALSE(written);
    CHECK(std::chrono::steady_clock::now() - begin < 20s);
}

TEST_CASE("a peer that still sends reads the last answer whole")
{
    const auto ends = SocketPair::over_tcp();
    const UniqueFd peer(ends[1]);
    std::string answer;
    {
        HttpSocket own{UniqueFd(ends[0])};
        CHECK_FALSE(own.peer_user().has_value());
        const std::string text(1'000'000, 'x');
        std::jthread writer([&] {
            ::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL);
            ::shutdown(peer.get(), SHUT_WR);
        });
        CHECK(own.write("the answer"));
        own.linger();
        own.break_off();
    }
    std::array<char, 100> piece{};
    for (ssize_t count = 1; count > 0;) {
        count = ::read(peer.get(), piece.data(), piece.size());
        CHECK(count >= 0);
        answer.append(piece.data(), static_cast<std::size_t>(count > 0 ? count : 0));
    }
    CHECK(answer == "the answer");
}

TEST_CASE(
    "the last answer on a unix socket counts as read when its peer comes to it late, and once")
{
    const auto ends = SocketPair::connected();
    UniqueFd peer(ends[1]);
    std::atomic<bool> read{false};
    std::atomic<bool> lost{false};
    const auto ending = [&](std::chrono::milliseconds patience) {
        HttpSocket own{UniqueFd(ends[0]), nullptr, patience};
        CHECK(own.write("the answer"));
        CHECK_FALSE(own.unread().when_read([&] { read = true; }, [&] { lost = true; }));
        own.linger();
        own.break_off();
    };
    const auto begin = std::chrono::steady_clock::now();
    SUBCASE("it reads")
    {
        std::jthread server([&] { ending(30s); });
        std::this_thread::sleep_for(1500ms);
        std::array<char, 100> piece{};
        CHECK(::read(peer.get(), piece.data(), piece.size()) == 10);
        server.join();
        CHECK(read);
        CHECK_FALSE(lost);
    }
    SUBCASE("it goes")
    {
        std::jthread server([&] { ending(30s); });
        std::this_thread::sleep_for(1500ms);
        peer.reset();
        server.join();
        CHECK(lost);
        CHECK(std::chrono::steady_clock::now() - begin < 20s);
    }
    SUBCASE("it does neither for as long as it may")
    {
        ending(100ms);
        CHECK(lost);
        CHECK_FALSE(read);
    }
}

TEST_CASE("who is on the other side of a unix socket is known")
{
    const SocketPair pair;
    REQUIRE(pair.own.peer_user().has_value());
    CHECK(*pair.own.peer_user() == ::geteuid());
}

TEST_CASE("what a peer has read of what was written is known")
{
    SocketPair pair;
    CHECK(pair.own.write("text"));
    std::atomic<bool> read{false};
    CHECK_FALSE(pair.own.unread().when_read([&] { read = true; }));
    (void)pair.own.unread().look();
    CHECK_FALSE(read);
    std::array<char, 4> text{};
    CHECK(::read(pair.peer.get(), text.data(), text.size()) == 4);
    CHECK(tests::becomes_true([&] {
        (void)pair.own.unread().look();
        return read.load();
    }));
}

TEST_CASE("the end of what was sent is nothing that its peer has left unread")
{
    SocketPair pair(SocketPair::over_tcp());
    CHECK(pair.own.write("text"));
    std::array<char, 4> text{};
    CHECK(::read(pair.peer.get(), text.data(), text.size()) == 4);
    CHECK(tests::becomes_true([&] {
        int unread = 0;
        return ::ioctl(pair.own.descriptor(), TIOCOUTQ, &unread) == 0 && unread == 0;
    }));
    pair.own.break_off(); // which its peer's kernel takes a moment to acknowledge
    bool read = false;
    CHECK(pair.own.unread().when_read([&] { read = true; }));
    CHECK(read);
}

TEST_CASE("but the last byte is")
{
    bool read = false;
    bool lost = false;
    {
        const auto ends = SocketPair::connected();
        const UniqueFd peer(ends[1]);
        HttpSocket own{UniqueFd(ends[0])};
        CHECK(own.write("x"));
        own.break_off();
        own.unread().when_read([&] { read = true; }, [&] { lost = true; });
    }
    CHECK_FALSE(read);
    CHECK(lost);
}
