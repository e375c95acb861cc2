#include "sandbox/placeholder.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace berth;

namespace {

using Values = std::map<std::string, std::string>;

class KeepingMachine : public test::FakeMachine {
  public:
    KeepingMachine() : FakeMachine([] { return UniqueFd(); }) {}

    void bring_secrets(const Values& values) override { brought = values; }

    Values brought;
};

} // namespace

TEST_CASE("of two calls none brings an older value of a secret behind a newer one")
{
    auto owned = std::make_unique<KeepingMachine>();
    auto& machine = *owned;
    sandbox::Sandbox sandbox(std::move(owned), "token");
    CHECK(sandbox.placeholders({}).empty());
    CHECK(sandbox.placeholders([] { return Values(); }).empty());
    CHECK(machine.brought.empty());
    std::promise<void> read_old;
    std::atomic<bool> brought_new = false;
    std::thread slow([&] {
        (void)sandbox.placeholders([&] {
            read_old.set_value();
            // The other one overtakes it here, if it can.
            for (int i = 0; i < 50 && !brought_new; ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            return Values{{"TOKEN", "old"}};
        });
    });
    read_old.get_future().wait();
    const auto placeholders = sandbox.placeholders([] { return Values{{"TOKEN", "new"}}; });
    brought_new = true;
    slow.join();
    CHECK(placeholders == Values{{"TOKEN", sandbox::placeholder_of("token", "TOKEN")}});
    CHECK(machine.brought == Values{{"TOKEN", "new"}});
}
