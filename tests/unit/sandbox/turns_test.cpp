#include "sandbox/base/error.hpp"
#include "sandbox/turns.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using sandbox::Turns;

TEST_CASE("turns: no more inside than may be, and first come first served")
{
    Turns turns(1);
    std::mutex mutex;
    std::vector<int> order;
    std::atomic<int> inside = 0;
    std::vector<std::jthread> threads;
    {
        const auto first = turns.enter({});
        for (int n = 0; n < 8; ++n) {
            std::atomic<bool> started = false;
            threads.emplace_back([&, n, flag = &started] {
                *flag = true;
                const auto turn = turns.enter({});
                CHECK(++inside == 1);
                {
                    const std::lock_guard lock(mutex);
                    order.push_back(n);
                }
                --inside;
            });
            while (!started) {
                std::this_thread::yield();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5)); // until it waits
        }
    }
    threads.clear();
    CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("turns: who is cancelled leaves the queue, and the others do not notice")
{
    Turns turns(1);
    std::optional<ErrorCode> seen;
    std::stop_source stop;
    bool served = false;
    {
        const auto first = turns.enter({});
        std::jthread cancelled([&] {
            try {
                const auto turn = turns.enter(stop.get_token());
            } catch (const Error& error) {
                seen = error.code();
            }
        });
        stop.request_stop();
        cancelled.join();
    }
    CHECK(seen == ErrorCode::cancelled);
    {
        const auto again = turns.enter({}); // nobody else took the place
        served = true;
    }
    CHECK(served);
}
