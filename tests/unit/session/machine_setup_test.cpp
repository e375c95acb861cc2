#include "sandbox/base/error.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/session/machine_setup.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using protocol::ExecuteReply;
using protocol::ExecuteRequest;
using session::set_up;
using session::Setup;

namespace {

/// A machine whose commands end as `reply` says.
struct Machine {
    std::function<ExecuteReply(const ExecuteRequest& request)> reply;
    std::mutex mutex;
    std::vector<ExecuteRequest> requests;
    test::Fixture fixture{
        [this](const std::shared_ptr<guest::Call>& call, const protocol::Frame& frame) {
            const auto request = protocol::decode<ExecuteRequest>(frame.payload);
            {
                const std::lock_guard lock(mutex);
                requests.push_back(request);
            }
            call->reply(protocol::encode(reply ? reply(request) : ExecuteReply()));
        }};

    std::string told(const Setup& setup) { return set_up(fixture.sandbox, setup); }

    std::string printed; ///< as the last refusal has it

    /// Text and hint of what is thrown.
    std::string refusal(const Setup& setup)
    {
        try {
            return "not refused: " + told(setup);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::sandbox_unavailable);
            printed = error.output();
            return std::string(error.what()) + '\n' + error.hint();
        }
    }
};

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_SUITE("session/machine_setup")
{
    TEST_CASE("nothing to run is nothing to tell")
    {
        Machine machine;
        CHECK(machine.told({}).empty());
        CHECK(machine.requests.empty());
    }

    TEST_CASE("each command in its turn, with the operator's variables, and nothing left running")
    {
        Machine machine;
        Setup setup{.commands = {"one", "two"}, .timeout = 100s, .variables = {}};
        setup.variables = [] { return std::map<std::string, std::string>{{"A", "1"}}; };
        const auto told = machine.told(setup);
        CHECK(has(told, "2 commands of session.setup in "));
        REQUIRE(machine.requests.size() == 2);
        CHECK(machine.requests[0].command == "one");
        CHECK(machine.requests[1].command == "two");
        for (const auto& request : machine.requests) {
            CHECK(request.environment.at("A") == "1");
            CHECK(request.on_exit == protocol::OnExit::kill);
            CHECK_FALSE(request.sticky_cwd);
            CHECK(request.timeout <= 100'000);
            CHECK(request.timeout > 50'000);
        }
        CHECK(machine.requests[0].id != machine.requests[1].id);
    }

    TEST_CASE("the first that fails ends it, with what it printed")
    {
        Machine machine;
        machine.reply = [](const ExecuteRequest&) {
            ExecuteReply reply;
            reply.exit_code = 3;
            reply.out.tail = "trying\n";
            reply.err.tail = "no \x1b[31mnet";
            return reply;
        };
        const auto said = machine.refusal({.commands = {"pip install x", "two"}, .variables = {}});
        CHECK(has(said, "`pip install x` of session.setup failed with exit code 3\nNothing of"));
        CHECK(machine.printed == "trying\nno \\x1b[31mnet");
        CHECK(has(said, "A home that was there before is kept"));
        CHECK(machine.requests.size() == 1);
    }

    TEST_CASE("how else a command can fail")
    {
        Machine machine;
        ExecuteReply reply;
        machine.reply = [&](const ExecuteRequest&) { return reply; };
        const Setup setup{.commands = {std::string(5000, 'x')}, .timeout = 7s, .variables = {}};
        reply.fate = protocol::Fate::timed_out;
        CHECK(has(machine.refusal(setup), "session.setup_timeout = 7 s"));
        reply.fate = protocol::Fate::oom_killed;
        CHECK(has(machine.refusal(setup), "local.memory"));
        reply.fate = protocol::Fate::signaled;
        reply.signal = 9;
        const auto said = machine.refusal(setup);
        CHECK(has(said, "ended by signal 9, and printed nothing"));
        CHECK(machine.printed.empty());
        CHECK(said.size() < 1000); // the command is cut
        reply.notice = "the home became too large";
        CHECK(has(machine.refusal(setup), "signal 9 (the home became too large), and printed"));
        reply.fate = protocol::Fate::lost;
        CHECK(has(machine.refusal(setup), "broken off"));
    }

    TEST_CASE("behind each it is known what the operator has made of protected files")
    {
        Machine machine;
        (void)machine.told({.commands = {"one"}, .variables = {}});
        CHECK_FALSE(machine.requests.at(0).protection);
        Setup setup{.commands = {"one"}, .variables = {}};
        setup.protection.emplace().paths = {"CLAUDE.md"};
        (void)machine.told(setup);
        REQUIRE(machine.requests.at(1).protection);
        CHECK(machine.requests.at(1).protection->paths == setup.protection->paths);
    }

    TEST_CASE("one that cannot be run is told as the operator's, not as the call's")
    {
        Machine machine;
        machine.reply = [](const ExecuteRequest&) -> ExecuteReply {
            throw Error(ErrorCode::too_large, "the environment is too large for one command");
        };
        const auto said = machine.refusal({.commands = {"make"}, .variables = {}});
        CHECK(has(said, "`make` of session.setup could not be run: the environment is too large"));
        CHECK(has(said, "The operator corrects session.setup"));
        // Of what has nothing to do with the command its own remedy is told.
        machine.reply = [](const ExecuteRequest&) -> ExecuteReply {
            throw Error(ErrorCode::sandbox_unavailable, "the connection broke",
                        "look at the network");
        };
        const auto other = machine.refusal({.commands = {"make"}, .variables = {}});
        CHECK(has(other, "could not be set up (session.setup): the connection broke"));
        CHECK(has(other, "look at the network"));
        CHECK_FALSE(has(other, "corrects"));
    }

    TEST_CASE("a variable that is not to be had is told as that")
    {
        Machine machine;
        const Setup setup{.commands = {"one"},
                          .variables = []() -> std::map<std::string, std::string> {
                              throw Error(ErrorCode::sandbox_unavailable, "no TOKEN");
                          }};
        CHECK(has(machine.refusal(setup), "no TOKEN"));
        CHECK(machine.requests.empty());
    }

    TEST_CASE("who finds a machine being set up is told for how long that may be at most")
    {
        Setup setup;
        const auto plain = session::busy_making(setup, "what");
        CHECK(plain.code() == ErrorCode::busy);
        CHECK(plain.details().empty());
        setup.commands = {"true"};
        setup.timeout = std::chrono::seconds(90);
        const auto error = session::busy_making(setup, "what", "And more.");
        CHECK(error.details().at("retry_after") == "90");
        CHECK(error.hint() ==
              "session.setup may run in it, for 90 s at most: try again then. And more.");
    }
}
