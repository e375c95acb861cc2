#pragma once

#include "sandbox/base/random.hpp"
#include "sandbox/direct/direct_backend.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/sandbox/programs.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace berth::test {

/// A real guest in a folder of its own, and a server that uses it. Both end with this.
struct RealGuest {
    explicit RealGuest(const sandbox::Limits& limits = {},
                       std::chrono::milliseconds idle_end = std::chrono::milliseconds(0))
    {
        sandbox::MachineSpec spec;
        spec.key_hash = random_hex(32);
        spec.session = "test";
        spec.generation = random_hex(16);
        spec.token = token;
        spec.limits = limits;
        spec.idle_end = idle_end;
        auto machine = backend->create(spec);
        record = machine->record();
        server = std::make_unique<sandbox::Sandbox>(std::move(machine), token);
    }

    ~RealGuest()
    {
        server.reset();
        backend->destroy(record, true);
    }

    RealGuest(const RealGuest&) = delete;
    RealGuest& operator=(const RealGuest&) = delete;

    [[nodiscard]] std::unique_ptr<sandbox::Sandbox> another_server() const
    {
        return std::make_unique<sandbox::Sandbox>(backend->attach(record), token);
    }

    [[nodiscard]] std::string text_of(const std::string& path) const
    {
        protocol::ReadFileRequest request;
        request.path = path;
        request.limit = 1000;
        request.budget = 100'000;
        return server->read_file(request, {}).content;
    }

    tests::TemporaryDirectory state;
    std::unique_ptr<sandbox::Backend> backend =
        direct::make_backend(BERTH_GUEST_PROGRAM, state.path());
    std::string token = random_hex(32);
    sandbox::MachineRecord record;
    std::unique_ptr<sandbox::Sandbox> server;
};

/// As a server asks for one whose result it will acknowledge.
inline protocol::ExecuteRequest command(const std::string& text)
{
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = text;
    request.timeout = 100'000;
    request.head_limit = request.tail_limit = 20'000;
    request.spill_above = 20'000;
    request.acknowledge = true;
    return request;
}

} // namespace berth::test
