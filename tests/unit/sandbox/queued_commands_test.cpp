#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"
#include "tests/unit/sandbox/real_guest.hpp"

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

/// With a place for one command.
struct Narrow : RealGuest {
    Narrow() : RealGuest({.calls = 1}) { server->attend(); }

    [[nodiscard]] std::unique_ptr<Sandbox> attending_server() const
    {
        auto another = another_server();
        another->attend();
        return another;
    }

    /// Has the place until release().
    [[nodiscard]] std::jthread hold()
    {
        std::jthread holder(
            [this] { (void)server->execute(command("until [ -e go ]; do sleep 0.01; done"), {}); });
        REQUIRE(becomes_true([&] { return server->info().calls == 1; }));
        return holder;
    }

    /// Whether the guest has that command, running or not.
    [[nodiscard]] bool has(const std::string& text) const
    {
        const auto info = server->info();
        return info.pause && std::ranges::any_of(info.pause->calls, [&](const std::string& call) {
                   return call.find(text) != std::string::npos;
               });
    }

    void release() const
    {
        protocol::WriteFileRequest request;
        request.path = "go";
        request.content = "now";
        (void)server->write_file(request, {});
    }
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
                    (void)machine.server->execute(command("sleep 0.05"), {});
                } catch (const Error&) {
                    ++refused; // its own may have to wait for long, on a slow machine
                }
            }
        });
    }
    REQUIRE(becomes_true([&] { return machine.server->info().calls == 1; }));
    const auto server = machine.attending_server();
    for (int i = 0; i < 5; ++i) {
        CHECK(server->execute(command("exit 3"), {}).exit_code == 3);
    }
    enough = true;
}

TEST_CASE("what waits for a place when its server goes is not run, and told so")
{
    Narrow machine;
    auto holder = machine.hold();
    auto server = machine.attending_server();
    std::stop_source stop;
    std::jthread caller([&] { execute_until_it_leaves(*server, "echo >ran", stop.get_token()); });
    REQUIRE(becomes_true([&] { return machine.has("echo >ran"); }));
    server->leave_commands();
    stop.request_stop();
    caller.join();
    server.reset();
    REQUIRE(becomes_true([&] { return machine.server->info().ended.size() == 1; }));
    const auto job = machine.server->info().ended.front();
    CHECK(job.unseen);
    CHECK(job.not_run);
    protocol::JobOutputRequest output;
    output.job_id = job.job_id;
    CHECK(machine.server->job_output(output, {}).state.notice.find("it was not run") !=
          std::string::npos);
    machine.release();
    holder.join();
    CHECK(machine.server->execute(command("test ! -e ran"), {}).exit_code == 0);
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
