#include "sandbox/guest/denials.hpp"
#include "sandbox/protocol/wire.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

using berth::UniqueFd;
using berth::guest::Denials;
using berth::guest::EventLoop;
using berth::protocol::Denial;

namespace {

struct ProxyEnd {
    ProxyEnd()
    {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
        proxy.reset(ends[0]);
        guest.reset(ends[1]);
    }

    void tell(const std::string& target) const
    {
        send(berth::protocol::encode(
            Denial{.kind = "domain", .target = target, .reason = "no", .remedy = "none"}));
    }

    void send(const std::string& message) const
    {
        REQUIRE(::send(proxy.get(), message.data(), message.size(), 0) > 0);
    }

    UniqueFd proxy;
    UniqueFd guest;
};

} // namespace

TEST_CASE("a command is told what was denied since it began, and no more")
{
    EventLoop loop;
    const ProxyEnd end;
    Denials denials(loop, UniqueFd(::dup(end.guest.get())));
    end.tell("before");
    const auto began = denials.newest();
    end.tell("a");
    end.tell("a");
    end.tell("b");
    const auto later = denials.newest();
    end.tell("b");
    end.tell("a");

    const auto told = denials.since(began);
    REQUIRE(told.size() == 2);
    CHECK(told[0].target == "a");
    CHECK(told[0].count == 3);
    CHECK(told[1].target == "b");
    CHECK(told[1].count == 2);
    const auto told_later = denials.since(later);
    REQUIRE(told_later.size() == 2);
    CHECK(told_later[0].target == "b");
    CHECK(told_later[0].count == 1);
    CHECK(denials.since(denials.newest()).empty());
}

TEST_CASE("however much is denied, little is kept and told")
{
    EventLoop loop;
    const ProxyEnd end;
    Denials denials(loop, UniqueFd(::dup(end.guest.get())));
    for (std::size_t i = 0; i < Denials::most_kept * 2; ++i) {
        end.tell(std::to_string(i));
        (void)denials.newest(); // takes it in
    }
    CHECK(denials.since(0).size() == Denials::most_told);
    CHECK(denials.since(0).front().target == std::to_string(Denials::most_kept));
}

TEST_CASE("a flood of denials is read in parts, so that the guest comes to others between them")
{
    EventLoop loop;
    ProxyEnd end;
    // As root more than that waits at once; else all of it is less than one part.
    const int room = 16 << 20;
    (void)::setsockopt(end.proxy.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    const auto message = berth::protocol::encode(
        Denial{.kind = "domain", .target = "a", .reason = "no", .remedy = "none"});
    int waiting = 0;
    while (waiting < Denials::most_read + 100 &&
           ::send(end.proxy.get(), message.data(), message.size(), MSG_DONTWAIT) > 0) {
        ++waiting;
    }
    REQUIRE(waiting > 0);
    Denials denials(loop, std::move(end.guest));
    CHECK(denials.newest() ==
          static_cast<std::uint64_t>(std::min<int>(waiting, Denials::most_read)));
    CHECK(denials.newest() == static_cast<std::uint64_t>(waiting));
}

TEST_CASE("what is no denial is passed over, and a proxy that has gone is told")
{
    EventLoop loop;
    ProxyEnd end;
    Denials denials(loop, std::move(end.guest));
    end.send("\xff\xff");
    end.tell("a");
    CHECK(denials.since(0).size() == 1);
    end.proxy.reset();
    const auto told = denials.since(0);
    REQUIRE(told.size() == 2);
    CHECK(told[1].kind == "proxy");
}

TEST_CASE("without a proxy nothing is denied")
{
    EventLoop loop;
    Denials denials(loop, UniqueFd());
    CHECK(denials.newest() == 0);
    CHECK(denials.since(0).empty());
}
