#pragma once

#include "sandbox/base/random.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/direct/direct_backend.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/sandbox/cutting_machine.hpp"
#include "tests/unit/sandbox/programs.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace berth::test {

/// That all of this holds for machines to which no connection is kept, too.
inline constexpr auto kept_or_not = {true, false};

inline sandbox::Reach reach_of(bool kept)
{
    return kept ? sandbox::Reach()
                : sandbox::Reach{.kept = false, .opening = 400, .lease = std::chrono::minutes(1)};
}

/// The real guest behind a relay.
struct Real {
    Real()
    {
        sandbox::MachineSpec spec;
        spec.key_hash = random_hex(32);
        spec.session = "test";
        spec.generation = random_hex(16);
        spec.token = random_hex(32);
        token = spec.token;
        auto machine = backend->create(spec);
        record = machine->record();
        plain = std::make_unique<sandbox::Sandbox>(std::move(machine), token);
    }

    ~Real()
    {
        plain.reset();
        backend->destroy(record, true);
    }

    Real(const Real&) = delete;
    Real& operator=(const Real&) = delete;

    [[nodiscard]] std::unique_ptr<sandbox::Sandbox> cut_at(const Cut& cut, bool kept = true) const
    {
        auto sandbox = std::make_unique<sandbox::Sandbox>(
            std::make_unique<CuttingMachine>(
                [socket = record.data.at("socket")] {
                    return connect_unix(socket, Deadline::after(std::chrono::seconds(10)));
                },
                record, std::vector{cut}, kept ? 1 : 0, reach_of(kept)),
            token);
        sandbox->attend();
        return sandbox;
    }

    [[nodiscard]] std::string text_of(const std::string& path) const
    {
        protocol::ReadFileRequest request;
        request.path = path;
        request.limit = 1000;
        request.budget = 100'000;
        return plain->read_file(request, {}).content;
    }

    [[nodiscard]] std::size_t unseen() const
    {
        std::size_t count = 0;
        const auto info = plain->info();
        for (const auto* jobs : {&info.jobs, &info.ended}) {
            for (const auto& job : *jobs) {
                count += job.unseen ? 1 : 0;
            }
        }
        return count;
    }

    tests::TemporaryDirectory state;
    std::unique_ptr<sandbox::Backend> backend =
        direct::make_backend(BERTH_GUEST_PROGRAM, state.path());
    std::string token;
    sandbox::MachineRecord record;
    std::unique_ptr<sandbox::Sandbox> plain;
};

/// That is to be acknowledged.
inline protocol::ExecuteRequest command(const std::string& text)
{
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = text;
    request.timeout = 20'000;
    request.head_limit = request.tail_limit = 20'000;
    request.spill_above = 20'000;
    request.acknowledge = true;
    return request;
}

} // namespace berth::test
