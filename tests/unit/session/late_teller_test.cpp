// That a result was read is known to a guest before it takes the server for gone, also where no
// call follows.

#include "sandbox/late_words.hpp"
#include "sandbox/receipt.hpp"
#include "sandbox/session/late_teller.hpp"
#include "sandbox/unix_channel.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/guest/guest_server.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

using namespace berth;
using namespace std::chrono_literals;
using sandbox::LateWords;
using sandbox::Receipt;
using session::LateTeller;
using tests::becomes_true;

namespace {

constexpr auto lease = 800ms;

/// To which no connection is kept.
class FarMachine : public test::FakeMachine {
  public:
    using FakeMachine::FakeMachine;

    [[nodiscard]] std::unique_ptr<sandbox::Channel> open_awake(const Deadline& deadline,
                                                               std::string_view opening,
                                                               const std::string& token) override
    {
        ++asked;
        if (refusals > 0) {
            --refusals;
            throw sandbox::Unsent(Error(ErrorCode::sandbox_unavailable, "it may sleep"),
                                  sandbox::Unsent::Of::way_there);
        }
        return open(deadline, opening, token, {});
    }

    [[nodiscard]] sandbox::Reach reach() const noexcept override
    {
        return {.kept = false, .opening = 10'000, .lease = lease};
    }

    std::atomic<int> asked = 0; ///< in vain or not, by who would not wake it
    std::atomic<int> refusals = 0;
};

/// A server's sandbox, and what its guest hears.
struct Stage {
    std::atomic<int> jobs = 0; ///< that run
    std::atomic<int> seen = 0;
    std::atomic<int> unseen = 0;
    test::GuestServer guest{
        [this](const std::shared_ptr<guest::Call>& call, const protocol::Frame& request) {
            if (request.operation == static_cast<std::uint16_t>(protocol::Operation::ping)) {
                call->reply({});
                return;
            }
            if (request.operation == static_cast<std::uint16_t>(protocol::Operation::info)) {
                protocol::InfoReply reply;
                reply.jobs.resize(static_cast<std::size_t>(jobs));
                call->reply(protocol::encode(reply));
                return;
            }
            call->on_acknowledged([this] { ++seen; });
            call->on_gone([this] { ++unseen; });
            protocol::ExecuteReply reply{.acknowledge = true};
            reply.job_id = jobs > 0 ? "job-1" : "";
            call->reply(protocol::encode(reply));
        }};
    FarMachine* machine = new FarMachine([this] { return guest.connect(); });
    std::shared_ptr<sandbox::Sandbox> sandbox =
        std::make_shared<sandbox::Sandbox>(std::unique_ptr<sandbox::Machine>(machine), "secret");
    LateTeller teller;

    Stage()
    {
        sandbox->attend();
        teller.watch(sandbox);
    }

    Receipt run()
    {
        Receipt receipt;
        protocol::ExecuteRequest request;
        request.acknowledge = true;
        (void)sandbox->execute(request, {}, {}, &receipt);
        return receipt;
    }
};

} // namespace

TEST_SUITE("session/late_teller")
{
    TEST_CASE("what was read is said by a request of its own, once, where no call follows")
    {
        Stage stage;
        stage.run().acknowledge();
        CHECK(stage.seen == 0);
        CHECK(becomes_true([&] { return stage.seen == 1; }));
        CHECK(stage.machine->asked == 1);
        std::this_thread::sleep_for(lease * 3 / 4);
        CHECK(stage.guest.clients() == 0); // the lease ends when it had, whatever was said in it
        std::this_thread::sleep_for(lease / 4);
        CHECK(stage.machine->asked == 1);
        CHECK(stage.unseen == 0);
    }

    TEST_CASE("nothing is said where there is nothing to say, or a call has said it")
    {
        Stage stage;
        const auto unread = stage.run();
        stage.run().acknowledge();
        const auto also_unread = stage.run();
        CHECK(stage.seen == 1);
        std::this_thread::sleep_for(lease);
        CHECK(stage.machine->asked == 0);
        CHECK(becomes_true([&] { return stage.unseen == 2; }));
    }

    TEST_CASE("that nobody has read a result is said while its server is there")
    {
        Stage stage;
        (void)stage.run();
        SUBCASE("with the next call")
        {
            stage.run().acknowledge();
            CHECK(stage.unseen == 1);
            CHECK(stage.machine->asked == 0);
            CHECK(becomes_true([&] { return stage.seen == 1; }));
        }
        SUBCASE("by a request of its own")
        {
            CHECK(becomes_true([&] { return stage.unseen == 1; }));
            CHECK(stage.machine->asked == 1);
            CHECK(stage.guest.clients() == 1); // it is not that its time is over
        }
        CHECK(stage.unseen == 1);
    }

    TEST_CASE("while jobs run a server is there, whether or not it calls")
    {
        Stage stage;
        stage.jobs = 1;
        stage.run().acknowledge();
        for (int i = 0; i < 8; ++i) {
            std::this_thread::sleep_for(lease / 4);
            CHECK(stage.guest.clients() == 1);
        }
        CHECK(stage.machine->asked >= 3);
        CHECK(stage.machine->asked <= 5);
        SUBCASE("until they have ended")
        {
            stage.jobs = 0;
            CHECK(becomes_true([&] { return stage.guest.clients() == 0; }));
            const int asked = stage.machine->asked;
            std::this_thread::sleep_for(lease);
            CHECK(stage.machine->asked == asked);
        }
        SUBCASE("until it leaves")
        {
            (void)stage.sandbox->leave(Deadline::after(10s));
            std::this_thread::sleep_for(lease);
            CHECK(stage.guest.clients() == 0);
        }
        SUBCASE("or have its machine wake")
        {
            stage.machine->refusals = 100;
            const int asked = stage.machine->asked;
            std::this_thread::sleep_for(3 * lease);
            CHECK(stage.machine->asked >= asked + 5); // rarely, once it was tried often
            CHECK(stage.machine->asked <= asked + 10);
            stage.machine->refusals = 0; // whatever was in the way has gone
            CHECK(becomes_true([&] { return stage.guest.clients() == 1; }));
        }
    }

    TEST_CASE("also while jobs run that it has found there")
    {
        Stage stage;
        stage.jobs = 1;
        (void)stage.sandbox->info();
        std::this_thread::sleep_for(2 * lease);
        CHECK(stage.guest.clients() == 1);
    }

    TEST_CASE("it is said in time behind a call that took longer than its server's time")
    {
        Stage stage;
        auto receipt = stage.run();
        std::this_thread::sleep_for(lease * 3 / 4);
        const auto read = BootClock::now();
        receipt.acknowledge();
        CHECK(becomes_true([&] { return stage.seen == 1; }));
        CHECK(BootClock::now() - read < lease / 4); // at once: the half of it is over
        CHECK(stage.unseen == 0);
    }

    TEST_CASE("a machine that sleeps is not woken: it is tried again, and the next call says it")
    {
        Stage stage;
        stage.run().acknowledge();
        SUBCASE("it could not be reached for a moment")
        {
            stage.machine->refusals = 1;
            CHECK(becomes_true([&] { return stage.seen == 1; }));
            CHECK(stage.machine->asked == 2);
            CHECK(stage.unseen == 0);
        }
        SUBCASE("it sleeps")
        {
            stage.machine->refusals = 100;
            std::this_thread::sleep_for(2 * lease);
            CHECK(stage.machine->asked == 4);
            CHECK(stage.machine->connects == 1); // of the call
            stage.run().acknowledge();
            CHECK(stage.sandbox->words_due().has_value()); // for the new one, in its time
        }
    }

    TEST_CASE("a server that leaves in order says it then, and wakes nothing for it")
    {
        Stage stage;
        stage.run().acknowledge();
        stage.teller.stop();
        CHECK(stage.sandbox->leave(Deadline::after(10s)) == std::nullopt);
        CHECK(stage.seen == 1);
        CHECK(stage.machine->asked == 1);
        CHECK(stage.unseen == 0);
    }

    TEST_CASE("many words are due until each is told, and are said again when they were put off")
    {
        LateWords words(lease);
        CHECK_FALSE(words.due());
        for (std::size_t i = 0; i < LateWords::most + 1; ++i) {
            words.seen(std::to_string(i));
        }
        const auto due = words.due();
        REQUIRE(due);
        CHECK(*due > BootClock::now());
        CHECK(*due <= BootClock::now() + lease / 2);
        words.told(words.some());
        CHECK(words.size() == 1);
        CHECK(words.due() == due);
        words.renewed();
        CHECK(words.due() > due);
        for (int i = 0; i < 4; ++i) {
            REQUIRE(words.due());
            words.put_off();
        }
        CHECK_FALSE(words.due()); // enough: the next call says it
        words.renewed();
        CHECK(words.due());
        words.told(words.some());
        CHECK_FALSE(words.due());
    }
}
