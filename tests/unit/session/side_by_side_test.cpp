#include "sandbox/session/side_by_side.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

using namespace berth;
using namespace berth::session;

namespace {

/// Holds up each who comes until `count` are there, or for ten seconds.
class Meeting {
  public:
    explicit Meeting(std::size_t count) : missing_(count) {}

    void come()
    {
        std::unique_lock lock(mutex_);
        missing_ -= missing_ > 0 ? 1 : 0;
        changed_.notify_all();
        changed_.wait_for(lock, std::chrono::seconds(10), [this] { return missing_ == 0; });
        late_ = late_ || missing_ > 0;
    }

    /// Whether somebody waited in vain.
    [[nodiscard]] bool failed() const { return late_; }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t missing_;
    bool late_ = false;
};

/// Whose guests do not answer before all are asked.
class SlowBackend : public tests::FakeBackend {
  public:
    SlowBackend(std::string folder, std::size_t count)
        : FakeBackend(std::move(folder)), meeting(count)
    {
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    attach(const sandbox::MachineRecord& record) override
    {
        if (slow) {
            meeting.come();
        }
        return FakeBackend::attach(record);
    }

    bool slow = false; ///< set while nobody asks
    Meeting meeting;
};

} // namespace

TEST_CASE("what is done side by side is done once each, and all of it")
{
    for (const std::size_t count : {0U, 1U, 2U, 100U}) {
        std::vector<int> done(count);
        side_by_side(count, [&](std::size_t i) { ++done[i]; });
        CHECK(std::count(done.begin(), done.end(), 1) == static_cast<std::ptrdiff_t>(count));
    }
    std::vector<int> done(40);
    CHECK_THROWS_AS(side_by_side(done.size(),
                                 [&](std::size_t i) {
                                     ++done[i];
                                     if (i == 3) {
                                         throw std::runtime_error("three");
                                     }
                                 }),
                    std::runtime_error);
    CHECK(std::count(done.begin(), done.end(), 1) == 40);
}

TEST_CASE("guests that do not answer are waited for together")
{
    const std::vector<std::string> names{"one", "two", "three"};
    for (const bool asks_guests : {false, true}) {
        tests::ManagerFixture fixture;
        const auto backend = std::make_shared<SlowBackend>(
            fixture.directory / (asks_guests ? "guests" : "books"), names.size());
        fixture.backend = backend;
        const auto manager = fixture.start();
        for (const auto& name : names) {
            (void)manager->acquire({"ann", name, {}});
        }
        backend->slow = true;
        const auto count = asks_guests ? manager->activities().size() : manager->list().size();
        CHECK(count == names.size());
        CHECK_FALSE(backend->meeting.failed());
    }
}
