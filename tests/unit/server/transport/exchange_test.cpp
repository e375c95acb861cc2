#include "server/transport/exchange.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using transport::Exchange;

namespace {

struct ExchangeBench {
    ExchangeBench()
    {
        std::array<int, 2> fds{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0);
        socket = std::make_shared<transport::HttpSocket>(UniqueFd(fds[0]));
        peer = UniqueFd(fds[1]);
        exchange = std::make_shared<Exchange>(socket);
    }

    std::shared_ptr<transport::HttpSocket> socket;
    UniqueFd peer;
    std::shared_ptr<Exchange> exchange;
};

} // namespace

TEST_CASE("what is said before an answer is told before it, in its order")
{
    ExchangeBench bench;
    std::jthread worker([sink = bench.exchange->sink()]() mutable {
        CHECK(sink->offer("first"));
        CHECK(sink->offer("second"));
        sink->send("answer");
        CHECK_FALSE(sink->offer("too late"));
        sink.reset();
    });
    REQUIRE(bench.exchange->wait(30s) == Exchange::Event::said);
    CHECK(bench.exchange->take_said() == "first");
    REQUIRE(bench.exchange->wait(30s) == Exchange::Event::said);
    CHECK(bench.exchange->take_said() == "second");
    REQUIRE(bench.exchange->wait(30s) == Exchange::Event::answered);
    CHECK(bench.exchange->take_answer() == "answer");
}

TEST_CASE("an answer wins over the end that follows it, and over a peer that is gone")
{
    ExchangeBench bench;
    bench.exchange->sink()->send("answer");
    bench.peer.reset();
    CHECK(bench.exchange->wait(30s) == Exchange::Event::answered);
}

TEST_CASE("an exchange ends with the last who could say something")
{
    ExchangeBench bench;
    auto sink = bench.exchange->sink();
    auto other = sink;
    sink.reset();
    CHECK(bench.exchange->wait(1ms) == Exchange::Event::late);
    std::jthread worker([other = std::move(other)]() mutable { other.reset(); });
    CHECK(bench.exchange->wait(30s) == Exchange::Event::ended);
}

TEST_CASE("a peer that goes away wakes who waits, and none that sends more")
{
    ExchangeBench bench;
    const auto sink = bench.exchange->sink();
    CHECK(::write(bench.peer.get(), "x", 1) == 1);
    CHECK(bench.exchange->wait(1ms) == Exchange::Event::late);
    std::jthread worker([&] { bench.peer.reset(); });
    CHECK(bench.exchange->wait(30s) == Exchange::Event::gone);
}

TEST_CASE("work that goes on without its peer keeps its place, and lets the connection go")
{
    ExchangeBench bench;
    auto place = std::make_shared<int>(1);
    auto exchange =
        std::make_shared<Exchange>(bench.socket, transport::Occupied{.room = {}, .place = place});
    bench.exchange.reset();
    auto sink = exchange->sink();
    CHECK(bench.socket.use_count() == 2);
    exchange->finish(false);
    exchange.reset();
    CHECK(bench.socket.use_count() == 1);
    CHECK(place.use_count() == 2);
    sink->send("nobody reads it");
    CHECK(place.use_count() == 2);
    sink.reset();
    CHECK(place.use_count() == 1);
}

TEST_CASE("with its answer written a request has its place no more, whoever is still at its end")
{
    ExchangeBench bench;
    auto place = std::make_shared<int>(1);
    const auto all = std::make_shared<transport::HttpRoom::Count>(0);
    const auto exchange = std::make_shared<Exchange>(
        bench.socket,
        transport::Occupied{.room = std::make_shared<transport::HttpRoom>(
                                all, nullptr, transport::HttpRoom::Limits{.all = 10, .body = 1}),
                            .place = place});
    const auto sink = exchange->sink();
    CHECK(sink->hold(6));
    CHECK_FALSE(sink->hold(6));
    CHECK(*all == 6);
    sink->send("answer");
    CHECK(place.use_count() == 2);
    exchange->finish(true);
    CHECK(place.use_count() == 1);
    CHECK(*all == 0);
    CHECK(sink->hold(100)); // nobody counts any more
}

TEST_CASE("what nobody takes is left out beyond some, and an answer never is")
{
    ExchangeBench bench;
    const auto sink = bench.exchange->sink();
    for (std::size_t i = 0; i < Exchange::most_waiting; ++i) {
        CHECK(sink->offer(std::to_string(i)));
    }
    CHECK_FALSE(sink->offer("more"));
    CHECK(bench.exchange->wait(30s) == Exchange::Event::said);
    CHECK(bench.exchange->take_said() == "0");
    CHECK(sink->offer("again"));
    sink->send("answer");
    for (std::size_t i = 0; i < Exchange::most_waiting; ++i) {
        REQUIRE(bench.exchange->wait(30s) == Exchange::Event::said);
        (void)bench.exchange->take_said();
    }
    CHECK(bench.exchange->wait(30s) == Exchange::Event::answered);
}

TEST_CASE("an answer counts as read once its peer has read it, not when it was written")
{
    ExchangeBench bench;
    const auto sink = bench.exchange->sink();
    int read = 0;
    int lost = 0;
    sink->when_read([&] { ++read; }, [&] { ++lost; });
    sink->send("answer");
    CHECK(bench.socket->write(bench.exchange->take_answer()));
    CHECK(read == 0);
    bench.exchange->finish(true);
    sink->when_read([&] { ++read; }, [&] { ++lost; }); // the same of one who asks late
    CHECK(read == 0);
    std::array<char, 6> text{};
    REQUIRE(::read(bench.peer.get(), text.data(), text.size()) == 6);
    (void)bench.socket->unread().look();
    CHECK(read == 2);
    sink->when_read([&] { ++read; }, [&] { ++lost; });
    CHECK(read == 3);
    CHECK(lost == 0);
}

TEST_CASE("an answer that was written, and that its peer has not read when it goes, is lost, once")
{
    int read = 0;
    int lost = 0;
    {
        ExchangeBench bench;
        const auto sink = bench.exchange->sink();
        sink->when_read([&] { ++read; }, [&] { ++lost; });
        sink->send("answer");
        CHECK(bench.socket->write(bench.exchange->take_answer()));
        bench.exchange->finish(true);
        sink->when_read([&] { ++read; }, [&] { ++lost; }); // the same of one who asks late
        bench.peer.reset();
        (void)bench.socket->unread().look();
        CHECK(lost == 0);
    }
    CHECK(read == 0);
    CHECK(lost == 2);
}

TEST_CASE("an answer that was not written is told as lost, once, and nothing can be said after it")
{
    ExchangeBench bench;
    const auto sink = bench.exchange->sink();
    int read = 0;
    int lost = 0;
    sink->when_read([&] { ++read; }, [&] { ++lost; });
    sink->when_read([&] { ++read; }, {});
    bench.exchange->finish(false);
    bench.exchange->finish(true);
    CHECK(lost == 1);
    sink->when_read([&] { ++read; }, [&] { ++lost; });
    sink->when_read([&] { ++read; }, {});
    CHECK(lost == 2);
    CHECK(read == 0);
    CHECK_FALSE(sink->offer("x"));
    sink->send("an answer that nobody waits for");
}

TEST_CASE("whoever waits for an exchange may say something in it")
{
    ExchangeBench bench;
    const auto sink = bench.exchange->sink();
    int told = 0;
    sink->when_read({}, [&] {
        sink->when_read({}, [&] { ++told; });
        ++told;
    });
    bench.exchange->finish(false);
    CHECK(told == 2);
}
