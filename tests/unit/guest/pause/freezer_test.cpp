#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/pause/freezer.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string_view>

using berth::BootClock;
using berth::guest::EventLoop;
using berth::guest::Freezer;
using namespace std::chrono_literals;

namespace {

class CountingFreezer : public Freezer {
  public:
    CountingFreezer(EventLoop& loop, bool begins, int looks_until_rest)
        : Freezer(loop), begins_(begins), looks_until_rest_(looks_until_rest)
    {
    }

    [[nodiscard]] std::string_view mechanism() const noexcept override { return "counted"; }

    int looks = 0;
    int undone = 0;

  private:
    bool begin() override { return begins_; }

    [[nodiscard]] bool is_at_rest() override { return ++looks >= looks_until_rest_; }

    void undo() noexcept override { ++undone; }

    const bool begins_;
    const int looks_until_rest_;
};

struct Freezing {
    Freezing(bool begins, int looks_until_rest) : freezer(loop, begins, looks_until_rest) {}

    void freeze()
    {
        freezer.freeze([this](bool is_complete) {
            complete = is_complete;
            loop.stop();
        });
    }

    EventLoop loop;
    CountingFreezer freezer;
    std::optional<bool> complete;
};

} // namespace

TEST_CASE("a freezer tells from the loop, after as many looks as it takes")
{
    for (const int looks : {1, 4}) {
        Freezing freezing(true, looks);
        freezing.freeze();
        CHECK_FALSE(freezing.complete);
        freezing.loop.run();
        CHECK(freezing.complete == true);
        CHECK(freezing.freezer.looks == looks);
        CHECK(freezing.freezer.undone == 0);
    }
}

TEST_CASE("what does not come to rest is told in time, and looked at seldom")
{
    Freezing freezing(true, 1'000'000);
    const auto begin = BootClock::now();
    freezing.freeze();
    freezing.loop.run();
    CHECK(freezing.complete == false);
    CHECK(BootClock::now() - begin >= Freezer::patience);
    CHECK(freezing.freezer.looks < 80);
}

TEST_CASE("what cannot be begun is looked at once")
{
    Freezing freezing(false, 2);
    freezing.freeze();
    freezing.loop.run();
    CHECK(freezing.complete == false);
    CHECK(freezing.freezer.looks == 1);
}

TEST_CASE("who thaws meanwhile is told nothing")
{
    Freezing freezing(true, 3);
    freezing.freeze();
    freezing.freezer.thaw();
    (void)freezing.loop.call_at(BootClock::now() + 20ms, [&] { freezing.loop.stop(); });
    freezing.loop.run();
    CHECK_FALSE(freezing.complete);
    CHECK(freezing.freezer.looks == 0);
    CHECK(freezing.freezer.undone == 1);
}
