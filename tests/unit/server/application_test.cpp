#include "sandbox/base/wait_bound.hpp"
#include "server/application.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

/// Counts how often it was tried whether a machine can be made.
class Tried : public berth::tests::FakeBackend {
  public:
    using FakeBackend::FakeBackend;

    [[nodiscard]] sandbox::Availability availability() override
    {
        ++tries;
        return FakeBackend::availability();
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    attach(const sandbox::MachineRecord& record) override
    {
        patience = WaitBound::within({}, {}).deadline.poll_timeout();
        return FakeBackend::attach(record);
    }

    std::atomic<int> tries{0};
    std::atomic<int> patience{0}; ///< of the last look, for its host
};

struct Fixture {
    berth::tests::TemporaryDirectory directory;
    std::shared_ptr<Tried> backend = std::make_shared<Tried>(directory / "machines");
    Given given;
    std::unique_ptr<Application> first;

    Fixture()
    {
        given.values["state_dir"] = {.items = {directory / "state"}, .origin = "test"};
        given.session = "work";
        first = start();
        (void)first->sessions().acquire(first->options().session, {});
        backend->available = false;
        backend->tries = 0;
    }

    [[nodiscard]] std::unique_ptr<Application> start() const
    {
        return std::make_unique<Application>(
            make_options(given, [](const std::string&) { return std::nullopt; }), backend);
    }

    /// What a client has of a new server before its first call.
    [[nodiscard]] std::string told() const
    {
        const auto server = start();
        return server->service().initialize("2025-06-18") +
               server->service().list(nlohmann::json::object(), mcp::Era::legacy, false);
    }
};

} // namespace

TEST_SUITE("server/application")
{
    TEST_CASE_FIXTURE(Fixture, "where the session's machine runs, nobody tries to make another")
    {
        const auto words = told();
        CHECK(words.find("DISABLED") == std::string::npos);
        CHECK(words.find("bash_exec") != std::string::npos);
        CHECK(backend->tries == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "the tools of a session whose machine is gone are told as they are")
    {
        std::filesystem::remove(backend->alive(session::key_hash(first->options().session)));
        CHECK(told().find("DISABLED: the sandbox cannot be made on this host") !=
              std::string::npos);
        CHECK(backend->tries > 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that this server would not use shows nothing")
    {
        given.values["network"] = {.items = {"host"}, .origin = "test"};
        CHECK(told().find("DISABLED") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "what a client is told first waits a second for a machine's host")
    {
        CHECK(told().find("DISABLED") == std::string::npos);
        CHECK(backend->patience >= 0);
        CHECK(backend->patience <= 1000);
    }

    TEST_CASE_FIXTURE(Fixture, "that the books could not tell of a machine is not remembered")
    {
        const auto record = directory / "state/sessions/" +
                            session::key_hash(first->options().session) + "/record.json";
        const auto aside = directory / "aside";
        std::filesystem::rename(record, aside);
        std::ofstream(record) << "no record";
        const auto server = start();
        CHECK(server->service().initialize("2025-06-18").find("DISABLED") != std::string::npos);
        std::filesystem::rename(aside, record);
        CHECK(server->service().initialize("2025-06-18").find("DISABLED") == std::string::npos);
        CHECK(server->service()
                  .list(nlohmann::json::object(), mcp::Era::legacy, false)
                  .find("DISABLED") == std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "what a client was told it is told again")
    {
        const auto server = start();
        const auto words = server->service().initialize("2025-06-18");
        std::filesystem::remove(backend->alive(session::key_hash(first->options().session)));
        CHECK(server->service().initialize("2025-06-18") == words);
        CHECK(backend->tries == 0);
    }
}
