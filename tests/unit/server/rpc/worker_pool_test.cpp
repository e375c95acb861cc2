#include "server/rpc/worker_pool.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>

using berth::rpc::WorkerPool;
using namespace std::chrono_literals;

TEST_CASE("no task waits for another while the limit allows a thread")
{
    constexpr int tasks = 32;
    std::latch all(tasks);
    WorkerPool pool(tasks);
    for (int i = 0; i < tasks; ++i) {
        pool.run([&] { all.arrive_and_wait(); });
    }
    all.wait();
    CHECK(pool.threads() <= tasks);
}

TEST_CASE("no task is left behind, however tasks come while threads wake, look and end")
{
    constexpr int tasks = 8;
    WorkerPool pool(2 * tasks, 1ms); // threads end all the time, too
    for (int round = 0; round < 300; ++round) {
        const auto all = std::make_shared<std::latch>(tasks); // tasks may still be in it afterwards
        const auto add = [&pool, all] {
            for (int i = 0; i < tasks / 2; ++i) {
                pool.run([all] { all->arrive_and_wait(); }); // each needs a thread of its own
            }
        };
        std::thread other(add);
        add();
        all->wait();
        other.join();
        std::this_thread::sleep_for(std::chrono::microseconds(round * 7 % 1500));
    }
    CHECK(pool.load().waiting == 0);
}

TEST_CASE("beyond the limit tasks queue, and the destructor runs them")
{
    std::atomic<int> done = 0;
    {
        WorkerPool pool(2);
        for (int i = 0; i < 100; ++i) {
            pool.run([&] { ++done; });
        }
        CHECK(pool.threads() <= 2);
    }
    CHECK(done == 100);
}

TEST_CASE("an idle thread is used again, and ends when it stays idle")
{
    WorkerPool pool(8, 30ms);
    for (int i = 0; i < 20; ++i) {
        std::latch ran(1);
        pool.run([&] { ran.count_down(); });
        ran.wait();
        std::this_thread::sleep_for(1ms);
    }
    CHECK(pool.threads() <= 2);
    for (int i = 0; i < 100 && pool.threads() > 0; ++i) {
        std::this_thread::sleep_for(10ms);
    }
    CHECK(pool.threads() == 0);
}
