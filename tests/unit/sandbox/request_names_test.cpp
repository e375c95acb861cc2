#include "sandbox/base/request_scope.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "sandbox/sandbox.hpp"
#include "tests/unit/sandbox/fake_machine.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace berth;

namespace {

/// A guest that writes down what the calls it answers are called.
struct NamesBench {
    std::vector<std::string> names(const std::function<void(sandbox::Sandbox&)>& ask)
    {
        {
            const std::lock_guard lock(mutex);
            seen.clear();
        }
        ask(sandbox);
        const std::lock_guard lock(mutex);
        return seen;
    }

    std::mutex mutex;
    std::vector<std::string> seen;
    test::GuestServer server{
        [this](const std::shared_ptr<guest::Call>& call, const protocol::Frame& request) {
            if (static_cast<protocol::Operation>(request.operation) ==
                protocol::Operation::write_file) {
                const std::lock_guard lock(mutex);
                seen.push_back(protocol::decode<protocol::CallName>(request.payload).name);
            }
            call->reply(protocol::encode(protocol::WriteFileReply{}));
        }};
    sandbox::Sandbox sandbox{
        std::make_unique<test::FakeMachine>([this] { return server.connect(); }), "secret"};
};

} // namespace

TEST_CASE("what a guest is asked for a request bears its id, each call under a name of its own")
{
    NamesBench bench;
    const auto twice = [](sandbox::Sandbox& sandbox) {
        (void)sandbox.write_file({}, {});
        (void)sandbox.write_file({}, {});
    };
    const RequestScope scope({});
    const auto names = bench.names(twice);
    REQUIRE(names.size() == 2);
    CHECK(names[0] == scope.id() + "00000001");
    CHECK(names[1] == scope.id() + "00000002");
    CHECK(protocol::is_call_name(names[0]));
}

TEST_CASE("what is asked for no request has a name at random")
{
    NamesBench bench;
    const auto once = [](sandbox::Sandbox& sandbox) { (void)sandbox.write_file({}, {}); };
    const auto first = bench.names(once);
    const auto second = bench.names(once);
    REQUIRE(first.size() == 1);
    REQUIRE(second.size() == 1);
    CHECK(protocol::is_call_name(first[0]));
    CHECK(first[0] != second[0]);
}
