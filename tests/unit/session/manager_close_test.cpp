#include "sandbox/base/error.hpp"
#include "sandbox/base/wait_bound.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/session/session_manager.hpp"
#include "sandbox/wait_for.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using Fixture = tests::ManagerFixture;

namespace {

/// To which no connection is kept: what a server says to its guest as it leaves is its last word.
class FarMachine : public tests::FakeMachine {
  public:
    FarMachine(sandbox::MachineRecord record, std::function<void()> on_leave)
        : FakeMachine(std::move(record)), on_leave_(std::move(on_leave))
    {
    }

    [[nodiscard]] sandbox::Reach reach() const noexcept override { return {.kept = false}; }

    [[nodiscard]] std::unique_ptr<sandbox::Channel>
    open_awake(const Deadline& /*deadline*/, std::string_view /*opening*/,
               const std::string& /*token*/) override
    {
        on_leave_();
        throw sandbox::Unsent(Error(ErrorCode::session_lost, "a fake machine has no guest"));
    }

  private:
    std::function<void()> on_leave_;
};

class FarBackend : public tests::FakeBackend {
  public:
    using FakeBackend::FakeBackend;

    std::function<void()> on_leave;

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    create(const sandbox::MachineSpec& spec) override
    {
        return std::make_unique<FarMachine>(FakeBackend::create(spec)->record(), on_leave);
    }
};

} // namespace

TEST_CASE_FIXTURE(Fixture, "a server that ends lets go of all its machines at once")
{
    constexpr int machines = 3;
    auto manager = start();
    for (int i = 0; i < machines; ++i) {
        (void)manager->acquire({"ann", "", {std::to_string(i)}});
    }
    std::atomic<int> ending = 0;
    std::atomic<bool> together = true;
    backend->before_end = [&] {
        ++ending;
        together = tests::becomes_true([&] { return ending == machines; }) && together;
    };
    manager.reset();
    CHECK(together);
    CHECK(backend->count("purge") == machines);
}

TEST_CASE_FIXTURE(Fixture, "a machine is left once, and who leaves it too waits until it is")
{
    auto far = std::make_shared<FarBackend>(directory / "machines");
    std::atomic<int> left = 0;
    std::atomic<bool> is_left = false;
    std::latch leaving(1);
    far->on_leave = [&] {
        if (++left == 1) {
            leaving.count_down();
            std::this_thread::sleep_for(500ms);
            is_left = true;
        }
    };
    backend = far;
    auto manager = start();
    (void)manager->acquire(tests::work);
    {
        const std::jthread first([&] { manager->close(); });
        leaving.wait();
        manager->close();
        CHECK(is_left);
    }
    manager->close();
    manager.reset();
    CHECK(left == 1);
}

TEST_CASE_FIXTURE(Fixture, "what nobody else knows of a call that failed outlives its server")
{
    const session::Told told{.notices = {"a guest has it"}, .unheard = {"its client went away"}};
    const auto hears = [](session::SessionManager& server) {
        const auto lease = server.acquire(tests::work);
        tests::read(lease);
        return lease.notices;
    };
    using Notices = std::vector<std::string>;
    {
        auto manager = start();
        (void)manager->acquire(tests::work);
        manager->tell_again(tests::work, told);
    }
    CHECK(hears(*start()) == Notices{"its client went away"});
    // As long as the server is there it tells all of it, and nobody else does.
    auto manager = start();
    CHECK(hears(*manager).empty());
    manager->tell_again(tests::work, told);
    CHECK(hears(*manager) == Notices{"a guest has it", "its client went away"});
    manager.reset();
    CHECK(hears(*start()).empty());
    // A call that took it along and was given up brings it back for what it is.
    manager = start();
    (void)manager->acquire(tests::work);
    manager->tell_again(tests::work, told);
    for (int i = 0; i < 2; ++i) {
        const auto lease = manager->acquire(tests::work);
        CHECK(lease.notices == Notices{"a guest has it", "its client went away"});
        manager->report_unread(tests::work, lease);
    }
    manager.reset();
    CHECK(hears(*start()) == Notices{"its client went away"});
}

TEST_CASE_FIXTURE(Fixture, "a server that ends does not wait for the hosts of its machines")
{
    std::latch asked(1);
    backend->during_collection = [&] {
        asked.count_down();
        sandbox::wait_for(1min, WaitBound::within({}, {}).stop);
    };
    const session::SessionId unnamed{"ann", "", {}};
    auto manager = start();
    manager->start_collecting();
    asked.wait();
    (void)manager->acquire(unnamed);
    int patience = -1;
    backend->before_end = [&] {
        patience = WaitBound::within({}, {}).deadline.poll_timeout();
        throw Error(ErrorCode::sandbox_unavailable, "no answer in time");
    };
    const auto begin = std::chrono::steady_clock::now();
    manager.reset();
    CHECK(std::chrono::steady_clock::now() - begin < 20s);
    CHECK(patience >= 0);
    CHECK(patience <= 10'000);
    // What could not be ended whoever clears up next ends.
    backend->during_collection = {};
    backend->before_end = {};
    CHECK(start()->collect_leftovers(Deadline::after(20s)).cleared == 1);
    CHECK(start()->list().empty());
}
