#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

using berth::guest::Call;
using berth::protocol::Frame;
using berth::protocol::Operation;
using berth::sandbox::Sandbox;
using berth::test::FakeMachine;
using berth::test::Fixture;

TEST_CASE("servers that are idle after much work leave room for the next one")
{
    constexpr std::size_t servers = 32;
    constexpr std::size_t burst = 8;
    std::mutex mutex;
    std::vector<std::shared_ptr<Call>> waiting;
    Fixture fixture([&](const std::shared_ptr<Call>& call, const Frame& request) {
        if (request.operation != static_cast<std::uint16_t>(Operation::read_file)) {
            call->reply({});
            return;
        }
        const std::lock_guard lock(mutex);
        waiting.push_back(call);
        if (waiting.size() == burst) {
            for (const auto& one : std::exchange(waiting, {})) {
                one->reply({});
            }
        }
    });
    std::vector<std::unique_ptr<Sandbox>> idle;
    for (std::size_t i = 0; i < servers; ++i) {
        auto& sandbox = *idle.emplace_back(std::make_unique<Sandbox>(
            std::make_unique<FakeMachine>([&fixture] { return fixture.server.connect(); }),
            "secret"));
        std::vector<std::jthread> callers;
        for (std::size_t call = 0; call < burst; ++call) {
            callers.emplace_back([&sandbox] { (void)sandbox.read_file({}, {}); });
        }
    }
    CHECK_NOTHROW((void)fixture.sandbox.info());
}
