#include "sandbox/e2b/pipe.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::e2b::Pipe;

namespace {

using Outcome = Pipe::Outcome;

std::string read_all(Pipe& pipe, std::size_t size)
{
    std::string all;
    std::string piece(size, ' ');
    std::size_t got = 0;
    while (pipe.read(piece.data(), size, got, Deadline::after(30s), {}) == Outcome::done &&
           got > 0) {
        all.append(piece, 0, got);
    }
    return all;
}

} // namespace

TEST_CASE("bytes come out as they went in, whatever the sizes")
{
    for (const std::size_t capacity : {1U, 7U, 64U, 100'000U}) {
        for (const std::size_t size : {1U, 5U, 1000U}) {
            Pipe pipe(capacity);
            std::string sent;
            for (int i = 0; i < 3000; ++i) {
                sent += static_cast<char>(i * 31);
            }
            std::jthread writer([&] {
                for (std::size_t at = 0; at < sent.size(); at += 300) {
                    CHECK(pipe.write(sent.substr(at, 300), {}, {}) == Outcome::done);
                }
                pipe.end();
            });
            CHECK(read_all(pipe, size) == sent);
        }
    }
}

TEST_CASE("who writes waits for who reads, until the deadline")
{
    Pipe pipe(4);
    CHECK(pipe.write("1234", Deadline::after(30s), {}) == Outcome::done);
    CHECK(pipe.write("5", Deadline::after(10ms), {}) == Outcome::expired);
    std::array<char, 8> piece{};
    std::size_t got = 0;
    CHECK(pipe.read(piece.data(), 3, got, {}, {}) == Outcome::done);
    CHECK(got == 3);
    CHECK(pipe.write("567", Deadline::after(30s), {}) == Outcome::done);
    CHECK(pipe.write("8", Deadline::after(10ms), {}) == Outcome::expired);
    pipe.end();
    CHECK(read_all(pipe, 8) == "4567");
    CHECK(pipe.write("9", {}, {}) == Outcome::closed);
}

TEST_CASE("who reads waits for who writes, until the deadline or a stop request")
{
    Pipe pipe(4);
    std::array<char, 8> piece{};
    std::size_t got = 1;
    CHECK(pipe.read(piece.data(), 8, got, Deadline::after(10ms), {}) == Outcome::expired);
    CHECK(got == 0);
    std::stop_source stop;
    std::jthread later([&] {
        std::this_thread::sleep_for(20ms);
        stop.request_stop();
    });
    CHECK(pipe.read(piece.data(), 8, got, {}, stop.get_token()) == Outcome::expired);
    CHECK(pipe.read(piece.data(), 8, got, Deadline::after(30s), stop.get_token()) ==
          Outcome::expired);
}

TEST_CASE("what is there is given out even when the deadline has passed")
{
    Pipe pipe(4);
    CHECK(pipe.write("12", {}, {}) == Outcome::done);
    std::array<char, 8> piece{};
    std::size_t got = 0;
    CHECK(pipe.read(piece.data(), 8, got, Deadline::after(0s), {}) == Outcome::done);
    CHECK(got == 2);
}

TEST_CASE("closing it wakes both sides")
{
    Pipe pipe(1);
    CHECK(pipe.write("1", {}, {}) == Outcome::done);
    std::jthread later([&] {
        std::this_thread::sleep_for(20ms);
        pipe.close();
    });
    CHECK(pipe.write("2", {}, {}) == Outcome::closed);
    std::array<char, 8> piece{};
    std::size_t got = 0;
    CHECK(pipe.read(piece.data(), 8, got, {}, {}) == Outcome::closed);
}
