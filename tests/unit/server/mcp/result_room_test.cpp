#include "sandbox/base/error.hpp"
#include "server/mcp/result_room.hpp"
#include "tests/unit/server/recording_sink.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>

namespace rpc = berth::rpc;
namespace tools = berth::tools;
using berth::mcp::ResultRoom;

namespace {

constexpr std::size_t large = 1'000'000;

/// A call of whoever may hold so many bytes, and what it holds.
struct Caller {
    std::size_t limit;
    std::size_t held = 0;
    std::shared_ptr<rpc::Call> call = make();
    tools::Settings settings{};

    std::shared_ptr<rpc::Call> make()
    {
        const auto sink = std::make_shared<berth::test::RecordingSink>();
        rpc::Message message;
        message.id = "1";
        auto made = std::make_shared<rpc::Call>(
            std::move(message), sink, sink, [] {}, nullptr,
            [this](std::size_t bytes) {
                const bool is_room = held + bytes <= limit;
                held += is_room ? bytes : 0;
                return is_room;
            });
        made->request_stop(); // then it does not wait for room
        return made;
    }

    ResultRoom room(std::string_view tool) { return {*call, *tools::find_tool(tool), settings}; }
};

} // namespace

TEST_SUITE("server/mcp/result_room")
{
    TEST_CASE("a tool that only reads has room before it reads, or is busy")
    {
        Caller caller{.limit = 100'000};
        (void)caller.room("read_file");
        CHECK(caller.held == 2 * caller.settings.read_budget);
        for (const auto* const name : {"read_file", "grep_files", "bash_output"}) {
            try {
                (void)caller.room(name);
                FAIL("there is no room for a second");
            } catch (const berth::Error& error) {
                CHECK(error.code() == berth::ErrorCode::busy);
                CHECK(error.retryable());
            }
        }
        (void)caller.room("bash_exec"); // which says nothing yet
        CHECK(caller.held == 100'000);
    }

    TEST_CASE("a result that needs more takes more")
    {
        Caller caller{.limit = 2 * large};
        auto room = caller.room("read_file");
        room.take_for(std::string(90'000, 'a'));
        CHECK(caller.held == 100'000);
        room.take_for(std::string(large, 'a'));
        CHECK(caller.held == large);
        room.take(1000);
        CHECK(caller.held == large + 1000);
        CHECK_THROWS_AS(room.take(large), berth::Error);
        CHECK_THROWS_AS(room.take_for(std::string(3 * large, 'a')), berth::Error);
    }

    TEST_CASE("what was done is told where there is no room")
    {
        Caller caller{.limit = 20'000};
        auto room = caller.room("bash_exec");
        room.take_for(std::string(16 * 1024, 'a'));
        CHECK(caller.held == 0);
        room.take_for(std::string(20'000, 'a'));
        CHECK(caller.held == 20'000);
        auto next = caller.room("bash_exec");
        next.take_for(std::string(20'000, 'a'));
        CHECK(caller.held == 20'000);
    }
}
