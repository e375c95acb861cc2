#include "sandbox/guest/answer_book.hpp"
#include "sandbox/guest/call.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

using berth::guest::AnswerBook;
using berth::protocol::FrameType;
using Standing = berth::guest::AnswerBook::Standing;

namespace {

AnswerBook::Answer reply(std::string payload)
{
    return {.type = FrameType::reply, .payload = std::move(payload), .call = nullptr};
}

std::string name(std::size_t number)
{
    return "call-" + std::to_string(number);
}

/// One that was begun and has been answered.
void add(AnswerBook& book, const std::string& which, const std::string& payload)
{
    book.begin(which, {});
    book.keep(which, reply(payload));
}

} // namespace

TEST_SUITE("guest/answer_book")
{
    TEST_CASE("a call from its beginning until nobody asks for its answer")
    {
        AnswerBook book;
        CHECK(book.standing("a") == Standing::unknown);
        book.begin("a", {.operation = 3, .size = 10, .hash = 7});
        CHECK(book.standing("a") == Standing::running);
        CHECK(book.answer("a") == nullptr);
        CHECK(book.is_of("a", {.operation = 3, .size = 10, .hash = 7}));
        CHECK_FALSE(book.is_of("a", {.operation = 5, .size = 10, .hash = 7}));
        CHECK_FALSE(book.is_of("a", {.operation = 3, .size = 11, .hash = 7}));
        CHECK_FALSE(book.is_of("a", {.operation = 3, .size = 10, .hash = 8}));
        book.keep("a", reply("first"));
        book.keep("a", reply("second"));
        REQUIRE(book.answer("a") != nullptr);
        CHECK(book.answer("a")->payload == "first");
        book.let_go("a");
        CHECK(book.standing("a") == Standing::let_go);
        CHECK(book.answer("a") == nullptr);
        CHECK(book.bytes() == 0);
        book.keep("a", reply("third"));
        CHECK(book.standing("a") == Standing::let_go);
        book.let_go("never begun");
        book.keep("never begun", reply("x"));
        CHECK(book.standing("never begun") == Standing::unknown);
    }

    TEST_CASE("64 answers are kept, the newest")
    {
        AnswerBook book;
        for (std::size_t i = 0; i < 65; ++i) {
            add(book, name(i), "x");
        }
        CHECK(book.answers() == 64);
        CHECK(book.standing(name(0)) == Standing::let_go);
        CHECK(book.standing(name(1)) == Standing::answered);
        CHECK(book.standing(name(64)) == Standing::answered);
    }

    TEST_CASE("the oldest is the one that was answered first, not begun first")
    {
        AnswerBook book({.names = 10, .answers = 2, .bytes = 100});
        book.begin("slow", {});
        add(book, "quick", "x");
        book.keep("slow", reply("x"));
        add(book, "next", "x");
        CHECK(book.standing("quick") == Standing::let_go);
        CHECK(book.standing("slow") == Standing::answered);
    }

    TEST_CASE("4 MiB of answers are kept, and not a byte more")
    {
        constexpr std::size_t mebibyte = 1024UL * 1024;
        AnswerBook book;
        for (std::size_t i = 0; i < 4; ++i) {
            add(book, name(i), std::string(mebibyte, 'x'));
        }
        CHECK(book.bytes() == 4 * mebibyte);
        CHECK(book.answers() == 4);
        add(book, name(4), "x");
        CHECK(book.standing(name(0)) == Standing::let_go);
        CHECK(book.bytes() == 3 * mebibyte + 1);
        // One that is larger than all the room takes it from none.
        add(book, name(5), std::string(4 * mebibyte + 1, 'x'));
        CHECK(book.standing(name(5)) == Standing::let_go);
        CHECK(book.bytes() == 3 * mebibyte + 1);
        CHECK(book.answers() == 4);
        add(book, name(6), std::string(4 * mebibyte, 'x'));
        CHECK(book.standing(name(6)) == Standing::answered);
    }

    TEST_CASE("1024 names are known with what they asked; of one that runs that stays, however old")
    {
        AnswerBook book;
        book.begin("runs", {});
        for (std::size_t i = 0; i < 2000; ++i) {
            add(book, name(i), "x");
            if (i % 2 == 0) {
                book.let_go(name(i));
            }
        }
        CHECK(book.names() == 1024);
        CHECK(book.answers() == 64);
        CHECK(book.standing("runs") == Standing::running);
        CHECK(book.standing(name(2000 - 1024)) == Standing::let_go);
        CHECK(book.standing(name(0)) == Standing::let_go);
        CHECK(book.standing(name(2000 - 1023)) == Standing::let_go);
        CHECK(book.standing(name(1999)) == Standing::answered);
    }

    TEST_CASE("a name is not forgotten for newer ones before its time is over")
    {
        AnswerBook book({.names = 2, .remembered = std::chrono::milliseconds(60'000)});
        AnswerBook hasty({.names = 2, .remembered = std::chrono::milliseconds(0)});
        for (std::size_t i = 0; i < 5000; ++i) {
            add(book, name(i), "x");
            add(hasty, name(i), "x");
        }
        CHECK(book.names() == 2);
        CHECK(book.standing(name(0)) == Standing::let_go);
        CHECK(book.is_of(name(0), {}));
        book.let_go(name(0));
        CHECK(book.standing(name(0)) == Standing::let_go);
        CHECK(book.standing(name(5000)) == Standing::unknown);
        CHECK(hasty.standing(name(0)) == Standing::unknown);
    }

    TEST_CASE(
        "where no more names can be remembered it is full, until the first one's time is over")
    {
        AnswerBook book(
            {.names = 1, .remembered = std::chrono::milliseconds(200), .most_remembered = 3});
        for (std::size_t i = 0; i < 4; ++i) {
            CHECK_FALSE(book.is_full());
            add(book, name(i), "x");
        }
        CHECK(book.is_full());
        CHECK(berth::tests::becomes_true([&] { return !book.is_full(); }));
        CHECK(book.standing(name(0)) == Standing::unknown);
        CHECK(book.standing(name(3)) == Standing::answered);
    }

    TEST_CASE("a call lives as long as its answer")
    {
        berth::guest::EventLoop loop;
        AnswerBook book({.names = 10, .answers = 1, .bytes = 100});
        auto call =
            std::make_shared<berth::guest::Call>(loop, std::weak_ptr<berth::guest::Connection>());
        const std::weak_ptr<berth::guest::Call> alive = call;
        book.begin("a", {});
        book.keep("a", {.type = FrameType::reply, .payload = "x", .call = std::move(call)});
        CHECK_FALSE(alive.expired());
        add(book, "b", "x");
        CHECK(alive.expired());
    }
}
