#include "sandbox/base/error.hpp"
#include "sandbox/turns.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using berth::tests::becomes_true;
using sandbox::Turns;

namespace {

/// Callers that queue one behind the other, each as soon as the one before it waits.
class Queue {
  public:
    explicit Queue(Turns& turns) : turns_(turns) {}

    void add(int number, const std::stop_token& stop = {})
    {
        const std::size_t before = turns_.waiting();
        threads_.emplace_back([this, number, stop] {
            try {
                const auto turn = turns_.enter(stop);
                CHECK(++inside_ == 1);
                note(served_, number);
                --inside_;
            } catch (const Error& error) {
                CHECK(error.code() == ErrorCode::cancelled);
                note(cancelled_, number);
            }
        });
        REQUIRE(becomes_true([&] { return turns_.waiting() == before + 1; }));
    }

    /// Waits for all of them.
    std::vector<int> served()
    {
        threads_.clear();
        return served_;
    }

    std::vector<int> cancelled()
    {
        const std::lock_guard lock(mutex_);
        return cancelled_;
    }

  private:
    void note(std::vector<int>& list, int number)
    {
        const std::lock_guard lock(mutex_);
        list.push_back(number);
    }

    Turns& turns_;
    std::atomic<int> inside_ = 0;
    std::mutex mutex_;
    std::vector<int> served_;    ///< guarded by mutex_
    std::vector<int> cancelled_; ///< guarded by mutex_
    std::vector<std::jthread> threads_;
};

} // namespace

TEST_CASE("turns: no more inside than may be, and first come first served")
{
    Turns turns(1);
    Queue queue(turns);
    {
        const auto first = turns.enter({});
        for (int n = 0; n < 8; ++n) {
            queue.add(n);
        }
    }
    CHECK(queue.served() == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("turns: who is cancelled leaves the queue, and the others do not notice")
{
    Turns turns(1);
    Queue queue(turns);
    std::stop_source stop;
    {
        const auto first = turns.enter({});
        queue.add(0);
        queue.add(1, stop.get_token());
        queue.add(2);
        stop.request_stop();
        CHECK(becomes_true([&] { return queue.cancelled() == std::vector<int>{1}; }));
        CHECK(turns.waiting() == 2);
    }
    CHECK(queue.served() == std::vector<int>{0, 2});
    // The place is free again, for one.
    const auto last = turns.enter({});
    queue.add(3);
}
