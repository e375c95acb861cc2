// A call that was given up is named with the next hello, so that the guest waits no more for it.

#include "sandbox/given_up_calls.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>

using namespace berth;
using sandbox::GivenUpCalls;
using sandbox::Sandbox;
using tests::error_of;

namespace {

using Names = std::vector<std::string>;

/// A guest that answers, but the requests to write a file and, while it is `stopped`, nothing.
class StoppedGuest {
  public:
    [[nodiscard]] UniqueFd connect()
    {
        int pair[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        const std::lock_guard lock(mutex_); // two calls connect at once
        threads_.emplace_back([this, fd = pair[1]] { serve(UniqueFd(fd)); });
        return UniqueFd(pair[0]);
    }

    void stop(bool stopped) { stopped_ = stopped; }

    /// Of the last request of a file to be written.
    [[nodiscard]] std::string asked() const { return locked(asked_); }

    /// What each hello that was answered has said.
    [[nodiscard]] std::vector<Names> given_up() const { return locked(given_up_); }

  private:
    template <class Value>
    Value locked(const Value& value) const
    {
        const std::lock_guard lock(mutex_);
        return value;
    }

    void serve(UniqueFd fd)
    {
        test::Peer peer{std::move(fd)};
        while (const auto frame = peer.receive()) {
            if (frame->type == protocol::FrameType::hello && !stopped_) {
                const std::lock_guard lock(mutex_);
                given_up_.push_back(protocol::decode<protocol::Hello>(frame->payload).given_up);
                peer.send(protocol::FrameType::hello_reply,
                          protocol::encode(protocol::HelloReply{.version = 1,
                                                                .build = "x",
                                                                .generation = "g1",
                                                                .pid = 1,
                                                                .repeats = true}));
            } else if (frame->type == protocol::FrameType::request &&
                       frame->operation ==
                           static_cast<std::uint16_t>(protocol::Operation::write_file)) {
                const std::lock_guard lock(mutex_);
                asked_ = protocol::decode<protocol::CallName>(frame->payload).name;
                stopped_ = true;
            } else if (frame->type == protocol::FrameType::request && !stopped_) {
                // Both of the first two at once: so each has a connection.
                ++asked_to_answer_;
                CHECK(tests::becomes_true([this] { return asked_to_answer_ >= 2; }));
                peer.send(protocol::FrameType::reply, protocol::encode(protocol::Empty{}));
            }
        }
    }

    std::atomic<bool> stopped_ = false;
    std::atomic<int> asked_to_answer_ = 0;
    mutable std::mutex mutex_;
    std::string asked_;
    std::vector<Names> given_up_;
    std::vector<std::jthread> threads_; ///< last: they use what is above
};

} // namespace

TEST_SUITE("sandbox/given_up_calls")
{
    TEST_CASE("the guest hears of a call that was given up with the next one, once")
    {
        StoppedGuest guest;
        Sandbox sandbox(std::make_unique<test::FakeMachine>([&] { return guest.connect(); }),
                        "secret", std::chrono::milliseconds(50));
        const auto ping = [&] { sandbox.ping(); };
        // One that is free when the call is given up: no hello would be said on it.
        std::jthread beside(ping);
        ping();
        beside.join();
        CHECK(error_of([&] { (void)sandbox.write_file({}, {}); }) == ErrorCode::backend_error);
        const auto before = guest.given_up();
        guest.stop(false);
        ping();
        ping();
        auto said = guest.given_up();
        REQUIRE(said.size() == before.size() + 1);
        CHECK(said.back() == Names{guest.asked()});
        CHECK(std::count(said.begin(), said.end(), Names{}) ==
              static_cast<std::ptrdiff_t>(before.size()));
    }

    TEST_CASE("of too many the oldest are forgotten, and what was heard only is said no more")
    {
        GivenUpCalls calls;
        CHECK(calls.empty());
        for (std::size_t each = 0; each <= GivenUpCalls::most; ++each) {
            calls.add(std::to_string(each));
        }
        auto all = calls.all();
        REQUIRE(all.size() == GivenUpCalls::most);
        CHECK(all.front() == "1");
        calls.add("later");
        calls.heard(all);
        CHECK(calls.all() == Names{"later"});
        calls.heard({"later"});
        CHECK(calls.empty());
    }
}
