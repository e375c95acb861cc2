#include "sandbox/base/unique_fd.hpp"
#include "server/transport/unread.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using berth::UniqueFd;
using berth::transport::Unread;

namespace {

struct Ends {
    UniqueFd read;
    UniqueFd write;
};

Ends make(bool socket)
{
    std::array<int, 2> fds{};
    REQUIRE((socket ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data())
                    : ::pipe2(fds.data(), O_CLOEXEC)) == 0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void write(Unread& unread, const Ends& ends, std::string_view text)
{
    REQUIRE(::write(ends.write.get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
    unread.wrote(text.size());
}

void read(const Ends& ends, std::size_t size)
{
    std::string buffer(size, '\0');
    REQUIRE(::read(ends.read.get(), buffer.data(), size) == static_cast<ssize_t>(size));
}

bool waits(Unread& unread)
{
    return unread.look().count() >= 0;
}

} // namespace

TEST_CASE("a task runs once all that was written before it has been read")
{
    for (const bool socket : {false, true}) {
        CAPTURE(socket);
        const auto ends = make(socket);
        Unread unread(ends.write.get());
        int ran = 0;
        CHECK(unread.when_read([&] { ++ran; })); // nothing was written
        CHECK(ran == 1);
        CHECK_FALSE(waits(unread));
        write(unread, ends, "12345");
        CHECK_FALSE(unread.when_read([&] { ++ran; }));
        CHECK(waits(unread));
        read(ends, 4);
        CHECK(waits(unread));
        CHECK(ran == 1);
        read(ends, 1);
        CHECK_FALSE(waits(unread));
        CHECK(ran == 2);
    }
}

TEST_CASE("what is written behind it keeps up no task of a pipe")
{
    const auto ends = make(/*socket=*/false);
    Unread unread(ends.write.get());
    int ran = 0;
    for (int i = 0; i < 3; ++i) {
        write(unread, ends, "123");
        unread.when_read([&] { ++ran; });
    }
    read(ends, 7);
    CHECK(waits(unread));
    CHECK(ran == 2);
}

TEST_CASE("a reader that goes away has not read what is left")
{
    for (const bool socket : {false, true}) {
        CAPTURE(socket);
        auto ends = make(socket);
        Unread unread(ends.write.get());
        bool ran = false;
        write(unread, ends, "12345");
        unread.when_read([&] { ran = true; });
        read(ends, 2);
        ends.read.reset();
        CHECK(waits(unread));
        char byte = 0; // as of a server whose input it is too: takes the error away
        CHECK(::read(ends.write.get(), &byte, 1) < 1);
        unread.settle(std::chrono::milliseconds(5));
        CHECK_FALSE(ran);
    }
}

TEST_CASE("one that read all and went away has read all")
{
    for (const bool socket : {false, true}) {
        CAPTURE(socket);
        auto ends = make(socket);
        Unread unread(ends.write.get());
        bool ran = false;
        write(unread, ends, "12345");
        unread.when_read([&] { ran = true; });
        read(ends, 5);
        ends.read.reset();
        unread.settle(std::chrono::milliseconds(5));
        CHECK(ran);
    }
}

TEST_CASE("of what is neither a pipe nor a socket everything is read")
{
    const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    Unread unread(null.get());
    unread.wrote(5);
    bool ran = false;
    CHECK(unread.when_read([&] { ran = true; }));
    CHECK(ran);
}

TEST_CASE("few tasks wait for a reader that does not read: the oldest are dropped, and not run")
{
    const auto ends = make(/*socket=*/false);
    Unread unread(ends.write.get());
    write(unread, ends, "12345");
    const auto held = std::make_shared<int>(0);
    for (std::size_t i = 0; i < Unread::most + 3; ++i) {
        unread.when_read([held] { ++*held; });
    }
    CHECK(held.use_count() == 1 + static_cast<long>(Unread::most));
    read(ends, 5);
    CHECK_FALSE(waits(unread));
    CHECK(*held == static_cast<int>(Unread::most));
}

TEST_CASE("what waits when its reader is given up is lost, and nothing else")
{
    for (const bool socket : {false, true}) {
        CAPTURE(socket);
        auto ends = make(socket);
        int ran = 0;
        int lost = 0;
        {
            Unread unread(ends.write.get());
            write(unread, ends, "123");
            unread.when_read([&] { ++ran; }, [&] { ++lost; });
            read(ends, 3);
            CHECK_FALSE(waits(unread));
            write(unread, ends, "123");
            unread.when_read([&] { ++ran; }, [&] { ++lost; });
            unread.when_read([&] { ++ran; });
            read(ends, 1);
            CHECK(waits(unread));
            CHECK(lost == 0);
            ends.write.reset();
        }
        CHECK(lost == 1);
        CHECK(ran == 1);
    }
}

TEST_CASE("the oldest that is one too many is lost at once")
{
    std::size_t lost = Unread::most;
    const auto ends = make(/*socket=*/false);
    Unread unread(ends.write.get());
    write(unread, ends, "12345");
    for (std::size_t i = 0; i <= Unread::most; ++i) {
        unread.when_read([] {}, [&lost, i] { lost = i; });
    }
    CHECK(lost == 0);
}

TEST_CASE("the less is read the longer it takes to the next look")
{
    const auto ends = make(/*socket=*/false);
    Unread unread(ends.write.get());
    write(unread, ends, "12345");
    unread.when_read([] {});
    CHECK(unread.look().count() == 1);
    CHECK(unread.look().count() == 2);
    for (int i = 0; i < 20; ++i) {
        unread.look();
    }
    CHECK(unread.look().count() == 250);
}
