#pragma once

#include "sandbox/base/random.hpp"
#include "sandbox/e2b/e2b_backend.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/e2b_clients/stage.hpp"
#include "tests/unit/sandbox/programs.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace berth::tests {

inline constexpr const char* start_path = "/process.Process/Start";

inline sandbox::MachineSpec fresh_spec()
{
    sandbox::MachineSpec spec;
    spec.key_hash = random_hex(32);
    spec.session = "test";
    spec.generation = random_hex(16);
    spec.token = random_hex(32);
    spec.idle_pause = std::chrono::seconds(60);
    return spec;
}

inline protocol::ExecuteRequest command(const std::string& line)
{
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = line;
    request.timeout = 60'000;
    request.head_limit = request.tail_limit = 20'000;
    request.acknowledge = true;
    return request;
}

/// The backend, as a server has it.
struct Cloud : Stage {
    explicit Cloud(std::chrono::seconds look = std::chrono::seconds(60))
        : backend(e2b::make_backend({.guest_program = BERTH_GUEST_PROGRAM,
                                     .variables = e2b::process_variable,
                                     .lease = std::chrono::seconds(2),
                                     .look = look}))
    {
    }

    std::unique_ptr<sandbox::Machine> create(const sandbox::MachineSpec& spec)
    {
        auto machine = backend->create(spec);
        know(machine->record().id);
        return machine;
    }

    std::unique_ptr<sandbox::Backend> backend;
};

/// With a machine that has carried a call.
struct Cloudy : Cloud {
    explicit Cloudy(std::chrono::seconds look = std::chrono::seconds(60)) : Cloud(look)
    {
        auto machine = create(spec);
        record = machine->record();
        server = std::make_unique<sandbox::Sandbox>(std::move(machine), spec.token);
        server->attend();
        CHECK(out_of("echo hi") == "hi\n");
        auto counts = emulator.take_counts();
        CHECK(counts["api POST /v2/sandboxes"] == 1);
        CHECK(counts["api POST /v2/sandboxes/{id}/connect"] == 0); // it was given enough at once
    }

    std::string out_of(const std::string& line)
    {
        return server->execute(command(line), {}).out.head;
    }

    void on_start(nlohmann::json fault)
    {
        fault["plane"] = "envd";
        fault["path"] = start_path;
        emulator.fault(fault);
    }

    /// How often it ran since the last time.
    std::size_t ran() { return out_of("cat ran 2>/dev/null; rm -f ran").size() / 2; }

    sandbox::MachineSpec spec = fresh_spec();
    sandbox::MachineRecord record;
    std::unique_ptr<sandbox::Sandbox> server;
};

} // namespace berth::tests
