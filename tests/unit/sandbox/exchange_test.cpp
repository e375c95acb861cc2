#include "sandbox/base/error.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/exchange.hpp"
#include "sandbox/guest/workers.hpp"
#include "sandbox/guest_connection.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;
using berth::Deadline;
using berth::ErrorCode;
using berth::guest::Call;
using berth::protocol::Frame;
using berth::protocol::Operation;
using berth::sandbox::GuestConnection;
using berth::test::Fixture;
using berth::tests::becomes_true;
using berth::tests::error_of;

namespace {

/// A guest that sends 8 MiB out, takes all in, or refuses to take more than the first piece.
struct Transfers {
    std::atomic<std::size_t> taken = 0;
    std::atomic<bool> saw_end = false;
    bool refuse = false;
    Fixture fixture{[this](const std::shared_ptr<Call>& call, const Frame& request) {
        const bool import =
            request.operation == static_cast<std::uint16_t>(Operation::import_files);
        if (import) {
            call->accept_data();
        }
        fixture.server.workers().run([this, call, import] {
            try {
                if (import) {
                    take(*call);
                } else {
                    for (int i = 0; i < 32; ++i) {
                        call->send_data(std::string(berth::protocol::max_data_size, 'x'));
                    }
                }
                call->reply({});
            } catch (...) {
                call->fail(std::current_exception());
            }
        });
    }};

    void take(Call& call)
    {
        for (auto piece = call.receive_data(); !piece.empty(); piece = call.receive_data()) {
            taken += piece.size();
            if (refuse) {
                throw berth::Error(ErrorCode::no_space, "full");
            }
        }
        saw_end = true;
    }
};

/// A guest that is asked something, and to which no word goes until the channel is shut.
class HeldUp : public berth::sandbox::Channel {
  public:
    explicit HeldUp(std::binary_semaphore& asked) : asked_(asked) {}

    void send(std::string_view /*bytes*/) override { asked_.release(); }

    void send_urgent(std::string_view /*bytes*/) override { shut_.wait(false); }

    std::size_t receive(char* /*data*/, std::size_t /*size*/, const Deadline& deadline) override
    {
        while (!shut_) {
            if (deadline.expired()) {
                throw berth::Error(ErrorCode::backend_error, "nothing");
            }
            std::this_thread::sleep_for(1ms);
        }
        return 0;
    }

    void shutdown() noexcept override
    {
        shut_ = true;
        shut_.notify_all();
    }

  private:
    std::binary_semaphore& asked_;
    std::atomic<bool> shut_ = false;
};

} // namespace

TEST_CASE("who cancels waits for no channel, and what is on its way ends with the call")
{
    std::binary_semaphore asked(0);
    std::stop_source stop;
    std::jthread call([&] {
        GuestConnection connection(std::make_unique<HeldUp>(asked));
        CHECK(error_of([&] {
                  (void)exchange(connection, {.operation = Operation::ping,
                                              .request = {},
                                              .stop = stop.get_token(),
                                              .deadline = Deadline::after(2s)});
              }) == ErrorCode::backend_error);
    });
    asked.acquire();
    const auto begin = std::chrono::steady_clock::now();
    stop.request_stop();
    CHECK(std::chrono::steady_clock::now() - begin < 1500ms);
}

TEST_CASE("export: all data in order before the reply; a sink that throws ends it")
{
    Transfers transfers;
    auto& sandbox = transfers.fixture.sandbox;
    std::size_t size = 0;
    (void)sandbox.export_files({}, [&](std::string_view piece) { size += piece.size(); }, {});
    CHECK(size == 32 * berth::protocol::max_data_size);
    CHECK_THROWS_AS(
        (void)sandbox.export_files({}, [](std::string_view) { throw std::runtime_error("x"); }, {}),
        std::runtime_error);
    CHECK(becomes_true([&] { return transfers.fixture.server.connections() == 0; }));
}

TEST_CASE("import: all data, a source that throws, a guest that refuses in the middle")
{
    Transfers transfers;
    auto& sandbox = transfers.fixture.sandbox;
    int pieces = 40;
    (void)sandbox.import_files(
        {}, [&] { return pieces-- > 0 ? std::string(300'000, 'x') : std::string(); }, {});
    CHECK(transfers.taken == 40 * 300'000);
    CHECK(transfers.saw_end);
    CHECK(transfers.fixture.machine->connects == 1);

    transfers.saw_end = false;
    int good = 3;
    CHECK_THROWS_AS((void)sandbox.import_files({},
                                               [&]() -> std::string {
                                                   if (good-- == 0) {
                                                       throw std::runtime_error("store");
                                                   }
                                                   return "abc";
                                               },
                                               {}),
                    std::runtime_error);
    CHECK_FALSE(transfers.saw_end);

    transfers.refuse = true;
    CHECK(error_of([&] {
              (void)sandbox.import_files({}, [] { return std::string(300'000, 'x'); }, {});
          }) == ErrorCode::no_space);
}

TEST_CASE("import: a cancel never looks like the end of the data")
{
    for (int round = 0; round < 20; ++round) {
        Transfers transfers;
        std::stop_source stop;
        std::jthread stopper([&] {
            std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
            stop.request_stop();
        });
        const auto code = error_of([&] {
            (void)transfers.fixture.sandbox.import_files(
                {}, [] { return std::string(10'000, 'x'); }, stop.get_token());
        });
        CHECK(code == ErrorCode::cancelled);
        CHECK_FALSE(transfers.saw_end);
    }
}

TEST_CASE("import: a cancel of a call that waits for a thread behind its own data")
{
    std::atomic<int> gone = 0;
    Fixture fixture([&](const std::shared_ptr<Call>& call, const Frame&) {
        call->accept_data(); // and nobody takes it
        call->on_gone([&] { ++gone; });
    });
    std::stop_source stop;
    const std::jthread stopper([&] {
        std::this_thread::sleep_for(100ms);
        stop.request_stop();
    });
    const auto begin = std::chrono::steady_clock::now();
    try {
        (void)fixture.sandbox.import_files(
            {}, [] { return std::string(1'000'000, 'x'); }, stop.get_token());
        FAIL("it was answered");
    } catch (const berth::Error& error) {
        CHECK(error.code() == ErrorCode::cancelled);
        CHECK(std::string(error.what()) == "the call was cancelled before its data was sent whole");
        // No more than is known: the guest may have had one of several files whole.
        CHECK(error.hint() == "A file that had arrived whole may still be put in place; the others "
                              "are as they were: look, or load again.");
    }
    // A second after the stop, not after the moment at which somebody looks.
    CHECK(std::chrono::steady_clock::now() - begin < 1700ms);
    CHECK(becomes_true([&] { return gone == 1; }));
}
