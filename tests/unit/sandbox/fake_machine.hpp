#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/unix_channel.hpp"
#include "tests/unit/guest/guest_server.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth::test {

/// A machine whose connections a test makes.
class FakeMachine : public sandbox::Machine {
  public:
    explicit FakeMachine(std::function<UniqueFd()> connect, std::string generation = "g1")
        : connect_(std::move(connect))
    {
        record_.generation = std::move(generation);
    }

    [[nodiscard]] const sandbox::MachineRecord& record() const noexcept override { return record_; }

    [[nodiscard]] const std::vector<sandbox::Layer>& layers() const noexcept override
    {
        return layers_;
    }

    [[nodiscard]] std::unique_ptr<sandbox::Channel> connect(const Deadline& /*deadline*/) override
    {
        ++connects;
        return std::make_unique<sandbox::UnixChannel>(connect_());
    }

    std::atomic<int> connects = 0;

  private:
    std::function<UniqueFd()> connect_;
    sandbox::MachineRecord record_;
    std::vector<sandbox::Layer> layers_;
};

/// A sandbox whose guest is `handler`.
struct Fixture {
    explicit Fixture(guest::Server::Handler handler,
                     const guest::PayloadBudget::Limits& limits = {})
        : server(std::move(handler), limits)
    {
    }

    GuestServer server;
    FakeMachine* machine = new FakeMachine([this] { return server.connect(); });
    berth::sandbox::Sandbox sandbox{std::unique_ptr<berth::sandbox::Machine>(machine), "secret"};
};

} // namespace berth::test
