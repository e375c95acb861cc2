#include "sandbox/guest/command_answer.hpp"
#include "sandbox/guest/exec/process_tree.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/guest/files/fixture.hpp"
#include "tests/unit/guest/guest_server.hpp"
#include "tests/unit/guest/hung_worker.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

using namespace berth;
using berth::guest::CommandAnswer;
using berth::guest::ProtectedBook;
using berth::protocol::FrameType;

namespace {

/// A guest that answers each request as for a command which has just ended. Its one worker hangs.
class StuckGuest {
  public:
    explicit StuckGuest(ProtectedBook::Scan scan = guest::scan_protected) : scan_(std::move(scan))
    {
    }

    void release() { hung_.release(); }

    protocol::ExecuteReply run()
    {
        peer_.send(FrameType::request, "", 1);
        const auto answer = peer_.receive();
        REQUIRE(answer.has_value());
        REQUIRE(answer->type == FrameType::reply);
        return protocol::decode<protocol::ExecuteReply>(answer->payload);
    }

    guest::testing::Machine machine;
    bool protects = true;
    std::vector<protocol::ProcessEntry> left = {}; ///< running by each command

  private:
    void answer(const std::shared_ptr<guest::Call>& call) const
    {
        protocol::ExecuteRequest request;
        request.workdir = machine.home;
        if (protects) {
            request.protection = protocol::Protection{.paths = {"CLAUDE.md"}};
        }
        protocol::ExecuteReply reply;
        reply.cwd = machine.home;
        reply.left_running = left;
        CommandAnswer(services_, call, request).give(reply);
    }

    guest::test::Guest commands_{guest::test::Mode::subreaper};
    guest::Pauses pauses_{commands_.loop,
                          *commands_.commands,
                          {.clients = [] { return std::size_t{1}; }, .end = [] {}}};
    const ProtectedBook::Scan scan_;
    std::shared_ptr<ProtectedBook> book_ = std::make_shared<ProtectedBook>(machine.config, scan_);
    test::GuestServer server_{
        [this](const std::shared_ptr<guest::Call>& call, const protocol::Frame&) { answer(call); }};
    guest::test::HungWorker hung_;
    const guest::Services services_{.config = machine.config,
                                    .session = machine.session,
                                    .workers = hung_.workers,
                                    .commands = *commands_.commands,
                                    .pauses = pauses_,
                                    .connections = [] { return std::size_t{1}; },
                                    .ends_in = [] { return std::nullopt; },
                                    .end = [] {},
                                    .protected_files = book_};
    test::Peer peer_ = test::Peer::greeted(server_);
};

bool was_not_looked(const protocol::ExecuteReply& reply)
{
    return reply.notice.find("protected files were not looked at") != std::string::npos;
}

} // namespace

TEST_CASE(
    "no result waits without end for a look at protected files, which is told with a later one")
{
    StuckGuest guest;
    const auto first = guest.run();
    CHECK(was_not_looked(first));
    CHECK(first.protected_changes.empty());
    CHECK(was_not_looked(guest.run())); // of those that are stuck there are no more
    guest.machine.put("CLAUDE.md", "x");
    guest.release();
    auto last = guest.run();
    while (was_not_looked(last)) {
        last = guest.run();
    }
    REQUIRE(last.protected_changes.size() == 1);
    CHECK(last.protected_changes[0].path == guest.machine.home + "/CLAUDE.md");
    CHECK(last.protected_changes[0].before);
}

TEST_CASE("what a command left is named by its command line, and by less where that cannot be read")
{
    StuckGuest guest;
    guest.protects = false;
    guest.left = {{::getpid(), "[short]"}};
    const auto name = [&] { return guest.run().left_running.at(0).name; };
    CHECK(name() == "[short]");
    const auto began = BootClock::now();
    CHECK(name() == "[short]");
    CHECK(BootClock::now() - began < std::chrono::milliseconds(900)); // it is not waited for again
    guest.release();
    auto last = name();
    for (int tries = 0; last == "[short]" && tries < 1000; ++tries) {
        last = name();
    }
    CHECK(last == guest::command_line(::getpid()));
}

TEST_CASE("a look at protected files that fails makes no error of a command that ran")
{
    StuckGuest guest([](const protocol::Protection&, const std::vector<std::string>&,
                        const protocol::GuestConfig&) -> guest::ProtectedScan {
        throw std::runtime_error("no memory is left for it");
    });
    guest.release();
    CHECK(guest.run().notice ==
          "protected files were not looked at: no memory is left for it"); // run() wants a reply
}
