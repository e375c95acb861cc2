#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/direct/direct_backend.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"
#include "tests/unit/sandbox/programs.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

// Commands of several servers beyond session.calls, with the real guest.

namespace berth::test {
namespace {

using sandbox::Sandbox;
using tests::becomes_true;

protocol::ExecuteRequest command(const std::string& text)
{
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = text;
    request.timeout = 100'000;
    request.head_limit = request.tail_limit = 20'000;
    request.acknowledge = true;
    return request;
}

/// With a place for one command.
struct Narrow {
    Narrow()
    {
        sandbox::MachineSpec spec;
        spec.key_hash = random_hex(32);
        spec.session = "test";
        spec.generation = random_hex(16);
        spec.token = random_hex(32);
        spec.limits.calls = 1;
        token = spec.token;
        auto machine = backend->create(spec);
        record = machine->record();
        plain = std::make_unique<Sandbox>(std::move(machine), token);
        plain->attend();
    }

    ~Narrow()
    {
        plain.reset();
        backend->destroy(record, true);
    }

    Narrow(const Narrow&) = delete;
    Narrow& operator=(const Narrow&) = delete;

    [[nodiscard]] std::unique_ptr<Sandbox> another_server() const
    {
        auto server = std::make_unique<Sandbox>(backend->attach(record), token);
        server->attend();
        return server;
    }

    /// Has the place until release().
    [[nodiscard]] std::jthread hold()
    {
        std::jthread holder(
            [this] { (void)plain->execute(command("until [ -e go ]; do sleep 0.01; done"), {}); });
        REQUIRE(becomes_true([&] { return plain->info().calls == 1; }));
        return holder;
    }

    /// Whether the guest has that command, running or not.
    [[nodiscard]] bool has(const std::string& text) const
    {
        const auto info = plain->info();
        return info.pause && std::ranges::any_of(info.pause->calls, [&](const std::string& call) {
                   return call.find(text) != std::string::npos;
               });
    }

    void release() const
    {
        protocol::WriteFileRequest request;
        request.path = "go";
        request.content = "now";
        (void)plain->write_file(request, {});
    }

    [[nodiscard]] std::string text_of(const std::string& path) const
    {
        protocol::ReadFileRequest request;
        request.path = path;
        request.limit = 1000;
        request.budget = 100'000;
        return plain->read_file(request, {}).content;
    }

    tests::TemporaryDirectory state;
    std::unique_ptr<sandbox::Backend> backend =
        direct::make_backend(BERTH_GUEST_PROGRAM, state.path());
    std::string token;
    sandbox::MachineRecord record;
    std::unique_ptr<Sandbox> plain;
};

/// Ends by the cancel of whoever leaves.
void execute_until_it_leaves(Sandbox& server, const std::string& text, const std::stop_token& stop)
{
    try {
        (void)server.execute(command(text), stop);
    } catch (const Error&) {
        return;
    }
}

} // namespace

TEST_CASE("a server that always has commands ready keeps no other server from running one")
{
    Narrow machine;
    std::atomic<bool> enough = false;
    std::atomic<int> refused = 0;
    std::vector<std::jthread> crowd;
    crowd.reserve(4);
    for (int i = 0; i < 4; ++i) {
        crowd.emplace_back([&] {
            while (!enough) {
                try {
                    (void)machine.plain->execute(command("sleep 0.05"), {});
                } catch (const Error&) {
                    ++refused; // its own may have to wait for long, on a slow machine
                }
            }
        });
    }
    REQUIRE(becomes_true([&] { return machine.plain->info().calls == 1; }));
    const auto server = machine.another_server();
    for (int i = 0; i < 5; ++i) {
        CHECK(server->execute(command("exit 3"), {}).exit_code == 3);
    }
    enough = true;
}

TEST_CASE("what waits for a place when its server goes is not run, and told so")
{
    Narrow machine;
    auto holder = machine.hold();
    auto server = machine.another_server();
    std::stop_source stop;
    std::jthread caller([&] { execute_until_it_leaves(*server, "echo >ran", stop.get_token()); });
    REQUIRE(becomes_true([&] { return machine.has("echo >ran"); }));
    server->leave_commands();
    stop.request_stop();
    caller.join();
    server.reset();
    REQUIRE(becomes_true([&] { return machine.plain->info().ended.size() == 1; }));
    const auto job = machine.plain->info().ended.front();
    CHECK(job.unseen);
    CHECK(job.not_run);
    protocol::JobOutputRequest output;
    output.job_id = job.job_id;
    CHECK(machine.plain->job_output(output, {}).state.notice.find("it was not run") !=
          std::string::npos);
    machine.release();
    holder.join();
    CHECK(machine.plain->execute(command("test ! -e ran"), {}).exit_code == 0);
}

TEST_CASE(
    "a command that waits for a place when its connection breaks is found there, and runs once")
{
    Narrow machine;
    auto holder = machine.hold();
    std::mutex mutex;
    std::vector<UniqueFd> sockets; // of the connections that this server makes, once more
    const auto connect = [&] {
        auto socket = connect_unix(machine.record.data.at("socket"),
                                   Deadline::after(std::chrono::seconds(10)));
        const std::lock_guard lock(mutex);
        sockets.emplace_back(::dup(socket.get()));
        return socket;
    };
    const auto count = [&] {
        const std::lock_guard lock(mutex);
        return sockets.size();
    };
    Sandbox server(std::make_unique<FakeMachine>(connect, machine.record.generation),
                   machine.token);
    server.attend();
    std::atomic<int> exit_code = -1;
    std::jthread caller(
        [&] { exit_code = server.execute(command("echo x >>log; exit 3"), {}).exit_code; });
    REQUIRE(becomes_true([&] { return machine.has("echo x >>log"); }));
    const auto before = count();
    {
        const std::lock_guard lock(mutex);
        ::shutdown(sockets.back().get(), SHUT_RDWR); // the first is that by which it is here
    }
    REQUIRE(becomes_true([&] { return count() > before; })); // it asks again
    machine.release();
    caller.join();
    CHECK(exit_code == 3);
    CHECK(machine.text_of("log") == "x\n");
}

} // namespace berth::test
