#include "sandbox/base/error.hpp"
#include "sandbox/guest/workers.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

using berth::guest::Workers;
using berth::tests::becomes_true;
using namespace std::chrono_literals;

TEST_CASE("jobs that hang do not hold up the others, up to the limit")
{
    std::latch release(1);
    std::atomic<int> done = 0;
    Workers workers({.most = 4});
    for (int i = 0; i < 3; ++i) {
        workers.run([&] { release.wait(); });
    }
    for (int i = 0; i < 20; ++i) {
        workers.run([&] { ++done; });
    }
    CHECK(becomes_true([&] { return done == 20; }));
    CHECK(workers.threads() == 4);
    workers.run([&] { release.wait(); });
    workers.run([&] { ++done; });
    std::this_thread::sleep_for(20ms);
    CHECK(done == 20);
    release.count_down();
    CHECK(becomes_true([&] { return done == 21; }));
}

TEST_CASE("long jobs of each kind leave threads to short calls, and to each other")
{
    using Kind = Workers::Kind;
    std::latch release(1);
    std::atomic<int> stuck = 0;
    std::atomic<int> brief = 0;
    std::atomic<int> late = 0;
    Workers workers({.most = 9,
                     .most_searches = 4,
                     .most_listings = 1,
                     .most_transfers = 2,
                     .most_filters = 1});
    const auto hang = [&] {
        ++stuck;
        release.wait();
        ++late;
    };
    for (int i = 0; i < 20; ++i) {
        workers.run(hang, Kind::search);
    }
    CHECK(becomes_true([&] { return stuck == 4; }));
    for (int i = 0; i < 20; ++i) {
        workers.run(hang, Kind::transfer);
    }
    CHECK(becomes_true([&] { return stuck == 6; }));
    for (int i = 0; i < 20; ++i) {
        workers.run(hang, Kind::filter);
    }
    CHECK(becomes_true([&] { return stuck == 7; }));
    for (int i = 0; i < 20; ++i) {
        workers.run(hang, Kind::listing);
    }
    CHECK(becomes_true([&] { return stuck == 8; }));
    for (int i = 0; i < 20; ++i) {
        workers.run([&] { ++brief; });
    }
    CHECK(becomes_true([&] { return brief == 20; }));
    CHECK(stuck == 8);
    CHECK(workers.threads() <= 9);
    release.count_down();
    CHECK(becomes_true([&] { return late == 80; }));
}

TEST_CASE("jobs of a kind begin in the order they came, whatever others wait")
{
    using Kind = Workers::Kind;
    std::latch release(1);
    std::atomic<int> done = 0;
    std::vector<int> order; // one search at a time writes it
    Workers workers({.most = 2, .most_searches = 1});
    workers.run([&] { release.wait(); }, Kind::search);
    for (int i = 0; i < 10; ++i) {
        workers.run(
            [&, i] {
                order.push_back(i);
                ++done;
            },
            Kind::search);
        workers.run([&] { ++done; });
    }
    CHECK(becomes_true([&] { return done == 10; }));
    release.count_down();
    CHECK(becomes_true([&] { return done == 20; }));
    CHECK(order == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("askers take turns, however much one of them asks for, and of whatever kind")
{
    using Kind = Workers::Kind;
    std::latch release(1);
    std::atomic<std::size_t> done = 0;
    std::string order; // one job at a time writes it
    Workers workers({.most = 1});
    const auto write = [&](char what) {
        return [&order, &done, what] {
            order += what;
            ++done;
        };
    };
    workers.run([&] { release.wait(); }, Kind::brief, "a");
    for (int i = 0; i < 6; ++i) {
        workers.run(write('a'), i % 2 == 0 ? Kind::brief : Kind::search, "a");
    }
    workers.run(write('b'), Kind::search, "b");
    workers.run(write('b'), Kind::search, "b");
    workers.run(write('c'), Kind::brief, "c");
    release.count_down();
    CHECK(becomes_true([&] { return done == 9; }));
    CHECK(order == "bcabaaaaa");
}

TEST_CASE("a queue that one asker has filled has room for another")
{
    std::latch release(1);
    std::atomic<int> stuck = 0;
    std::atomic<int> done = 0;
    Workers workers({.most = 1, .queue = 3});
    const auto run = [&](const char* asker) {
        workers.run([&] { ++done; }, Workers::Kind::brief, asker);
    };
    workers.run([&] {
        ++stuck;
        release.wait();
    });
    REQUIRE(becomes_true([&] { return stuck == 1; }));
    for (int i = 0; i < 3; ++i) {
        run("a");
    }
    CHECK_THROWS_AS(run("a"), berth::Error);
    run("b");
    CHECK_THROWS_AS(run("b"), berth::Error);
    run("c");
    run("d");
    CHECK_THROWS_AS(run("e"), berth::Error); // there is an end to it
    release.count_down();
    CHECK(becomes_true([&] { return done == 6; }));
}

TEST_CASE("idle threads end, and come back when they are needed")
{
    Workers workers({.idle = 10ms});
    CHECK(workers.threads() == 0);
    std::atomic<int> done = 0;
    workers.run([&] { ++done; });
    CHECK(becomes_true([&] { return done == 1 && workers.threads() == 0; }));
    workers.run([&] { ++done; });
    CHECK(becomes_true([&] { return done == 2; }));
}

TEST_CASE("a thread is used again before another one is started")
{
    Workers workers;
    for (int i = 0; i < 10; ++i) {
        std::latch done(1);
        workers.run([&] { done.count_down(); });
        done.wait();
        std::this_thread::sleep_for(2ms);
    }
    CHECK(workers.threads() == 1);
}

TEST_CASE("a full queue says busy")
{
    std::latch release(1);
    Workers workers({.most = 1, .queue = 2});
    workers.run([&] { release.wait(); });
    std::this_thread::sleep_for(20ms);
    workers.run([] {});
    workers.run([] {});
    CHECK_THROWS_AS(workers.run([] {}), berth::Error);
    release.count_down();
}

TEST_CASE("a job has the stack it was promised")
{
    std::atomic<std::size_t> size = 0;
    {
        Workers workers({.stack = 512UL * 1024});
        std::latch done(1);
        workers.run([&] {
            pthread_attr_t attributes;
            ::pthread_getattr_np(::pthread_self(), &attributes);
            void* base = nullptr;
            std::size_t found = 0;
            ::pthread_attr_getstack(&attributes, &base, &found);
            ::pthread_attr_destroy(&attributes);
            size = found;
            done.count_down();
        });
        done.wait();
    }
    CHECK(size >= 512UL * 1024);
    CHECK(size < 1024UL * 1024);
}
