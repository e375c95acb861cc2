// A machine to which no connection is kept: what becomes of a call where none can be made, or the
// guest does not take it.

#include "sandbox/unix_channel.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/sandbox/cutting_machine.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>

using namespace berth;
using namespace std::chrono_literals;
using protocol::FrameType;
using sandbox::Channel;
using sandbox::Sandbox;
using tests::error_of;

namespace {

/// What becomes of the next connection, given how many were asked for before.
using Open = std::function<std::unique_ptr<Channel>(int number, std::string_view opening)>;

class OpenedMachine : public test::FakeMachine {
  public:
    explicit OpenedMachine(Open open)
        : FakeMachine([]() -> UniqueFd { throw Error(ErrorCode::internal, "none is kept"); }),
          open_(std::move(open))
    {
    }

    [[nodiscard]] std::unique_ptr<Channel> open(const Deadline& deadline, std::string_view opening,
                                                const std::string& /*token*/,
                                                const std::stop_token& /*stop*/) override
    {
        patience = std::chrono::milliseconds(deadline.poll_timeout());
        return open_(opened_++, opening);
    }

    std::chrono::milliseconds patience{0}; ///< of the last open()

    [[nodiscard]] sandbox::Reach reach() const noexcept override { return test::reach_of(false); }

  private:
    Open open_;
    std::atomic<int> opened_ = 0;
};

/// A guest that says how often it has done something.
struct Guest {
    std::atomic<std::uint64_t> done = 0;
    test::GuestServer server{[this](const std::shared_ptr<guest::Call>& call,
                                    const protocol::Frame& /*request*/) { answer(*call); }};

    void answer(guest::Call& call)
    {
        ++done;
        call.reply(protocol::encode(protocol::WriteFileReply()));
    }

    [[nodiscard]] std::unique_ptr<Channel> reached(std::string_view opening) const
    {
        auto channel = std::make_unique<sandbox::UnixChannel>(server.connect());
        channel->send(opening);
        return channel;
    }
};

/// The other end says that all connections are taken.
std::unique_ptr<Channel> full()
{
    int pair[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    protocol::ErrorMessage message;
    message.code = "busy";
    message.message = "too many connections";
    std::string bytes;
    protocol::put_frame(bytes, FrameType::error, protocol::encode(message));
    sandbox::UnixChannel(UniqueFd(pair[0])).send(bytes);
    return std::make_unique<sandbox::UnixChannel>(UniqueFd(pair[1]));
}

Sandbox sandbox_of(Open open, std::chrono::milliseconds patience = 10s)
{
    return {std::make_unique<OpenedMachine>(std::move(open)), "secret", patience};
}

[[noreturn]] void time_out()
{
    throw Error(ErrorCode::backend_error, "no answer in time");
}

} // namespace

TEST_SUITE("sandbox/opened_machine")
{
    TEST_CASE("a call that nobody has had may be made on another machine")
    {
        auto sandbox = sandbox_of([](int, std::string_view) -> std::unique_ptr<Channel> {
            throw sandbox::Unsent(Error(ErrorCode::session_lost, "there is no such box"));
        });
        CHECK_THROWS_AS((void)sandbox.write_file({}, {}), sandbox::Unsent);
    }

    TEST_CASE("who asks before a call waits as long as that for a machine that sleeps")
    {
        std::stop_source stop;
        auto machine =
            std::make_unique<OpenedMachine>([&](int, std::string_view) -> std::unique_ptr<Channel> {
                stop.request_stop();
                throw sandbox::Unsent(Error(ErrorCode::sandbox_unavailable, "it sleeps"),
                                      sandbox::Unsent::Of::way_there);
            });
        const auto& asked = *machine;
        Sandbox sandbox(std::move(machine), "secret", 60s);
        const auto check = [&](const sandbox::CallToCome& next, std::chrono::seconds wanted) {
            (void)error_of([&] { (void)sandbox.info({}, {}, nullptr, &next); });
            CHECK(asked.patience <= wanted);
            CHECK(asked.patience > wanted - 5s); // a busy machine takes its part of it
        };
        check({.time = 2s}, 17s);
        check({.time = 30s}, 45s);
        check({.time = 1h}, 60s);
        check({}, 60s);
        // And no longer than somebody wants it.
        stop = {};
        CHECK(error_of([&] {
                  const sandbox::CallToCome next{.stop = stop.get_token()};
                  (void)sandbox.info({}, {}, nullptr, &next);
              }) == ErrorCode::cancelled);
    }

    TEST_CASE("a call that somebody may have had is asked for again, and done once")
    {
        Guest guest;
        bool had = true;
        SUBCASE("it was had") {}
        SUBCASE("it was not")
        {
            had = false;
        }
        auto sandbox = sandbox_of([&](int number, std::string_view opening) {
            if (number == 0) {
                if (had) {
                    const auto lost = guest.reached(opening);
                    char byte = 0;
                    (void)lost->receive(&byte, 1, Deadline::after(10s));
                }
                time_out();
            }
            return guest.reached(opening);
        });
        CHECK_NOTHROW((void)sandbox.write_file({}, {}));
        CHECK(guest.done == 1);
    }

    TEST_CASE("what stands on the way and answers for the guest is waited for, and it done once")
    {
        Guest guest;
        std::size_t size = 1; // one that begins with the connection, or one that does not
        SUBCASE("a short one") {}
        SUBCASE("a long one")
        {
            size = 100'000;
        }
        auto sandbox = sandbox_of([&](int number, std::string_view opening) {
            if (number < 3) {
                if (number == 0) { // as a proxy that passes it on before it gives up
                    const auto lost = guest.reached(opening);
                    char byte = 0;
                    (void)lost->receive(&byte, 1, Deadline::after(10s));
                }
                throw sandbox::Unanswered(Error(ErrorCode::sandbox_unavailable, "503"));
            }
            return guest.reached(opening);
        });
        CHECK_NOTHROW(
            (void)sandbox.write_file({.path = "/a", .content = std::string(size, 'x')}, {}));
        CHECK(guest.done == 1);
    }

    TEST_CASE("of a machine that may live nobody says that it is lost, nor that nothing was done")
    {
        int opened = 0;
        bool answers = false;
        SUBCASE("it does not answer") {}
        SUBCASE("it has no room for the question")
        {
            answers = true;
        }
        auto sandbox = sandbox_of([&](int number, std::string_view) -> std::unique_ptr<Channel> {
            ++opened;
            if (number == 0 || !answers) {
                time_out();
            }
            return full();
        });
        try {
            (void)sandbox.write_file({}, {});
            FAIL("it was answered");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::backend_error);
            CHECK(std::string(error.what()).find("cannot be asked") != std::string::npos);
        }
        CHECK(opened == 4);
    }

    TEST_CASE("a guest that is full is waited for, and not for ever")
    {
        Guest guest;
        const auto later = [&](int number, std::string_view opening) {
            return number < 5 ? full() : guest.reached(opening);
        };
        {
            auto sandbox = sandbox_of(later);
            CHECK_NOTHROW((void)sandbox.write_file({}, {}));
        }
        CHECK(guest.done == 1);
        auto sandbox = sandbox_of([](int, std::string_view) { return full(); }, 200ms);
        CHECK(error_of([&] { (void)sandbox.write_file({}, {}); }) == ErrorCode::busy);
        std::stop_source stop;
        stop.request_stop();
        CHECK(error_of([&] { (void)sandbox.write_file({}, stop.get_token()); }) ==
              ErrorCode::cancelled);
    }
}
