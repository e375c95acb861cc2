// A server whose protocol has moved on, or not yet, meets machines of other releases.

#include "sandbox/base/error.hpp"
#include "sandbox/session/session_manager.hpp"
#include "sandbox/unix_channel.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/guest_server.hpp"
#include "tests/unit/session/manager_fixture.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

using namespace berth;
using protocol::Operation;
using session::SessionManager;
using test::GuestServer;
using tests::says;
using tests::work;

namespace {

/// Machines whose guests are threads of this process and speak what they are told to.
class GuestBackend : public sandbox::Backend {
  public:
    protocol::VersionRange versions; ///< of the next machine
    std::atomic<bool> in_use = false;
    std::atomic<bool> breaks = false; ///< an end is not gone on with, as by a server that is killed
    std::atomic<int> unseen = 0; ///< commands that have ended, of whose results nobody has heard

    [[nodiscard]] std::string_view name() const noexcept override { return "guests"; }

    [[nodiscard]] sandbox::Availability availability() override
    {
        return {.available = true, .reason = {}, .remedy = {}};
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    create(const sandbox::MachineSpec& spec) override
    {
        const auto answer = [this](const std::shared_ptr<guest::Call>& call,
                                   const protocol::Frame& request) { this->answer(call, request); };
        auto guest = std::make_shared<GuestServer>(answer, guest::PayloadBudget::Limits{},
                                                   guest::Credentials{.token = spec.token,
                                                                      .generation = spec.generation,
                                                                      .versions = versions});
        {
            const std::lock_guard lock(mutex_);
            guests_.emplace(spec.generation, std::move(guest));
        }
        sandbox::MachineRecord record;
        record.backend = "guests";
        record.id = "guest-" + spec.generation.substr(0, 8);
        record.generation = spec.generation;
        record.data["key_hash"] = spec.key_hash;
        return attach(record);
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    attach(const sandbox::MachineRecord& record) override
    {
        const std::lock_guard lock(mutex_);
        const auto found = guests_.find(record.generation);
        return found == guests_.end() ? nullptr : std::make_unique<Guest>(record, found->second);
    }

    void destroy(const sandbox::MachineRecord& record, bool /*purge*/) override
    {
        const std::lock_guard lock(mutex_);
        guests_.erase(record.generation);
        if (breaks) {
            throw Error(ErrorCode::backend_error, "it breaks off");
        }
    }

    [[nodiscard]] std::string description() const override { return "threads"; }

    [[nodiscard]] std::size_t machines() const
    {
        const std::lock_guard lock(mutex_);
        return guests_.size();
    }

  private:
    class Guest : public sandbox::Machine {
      public:
        Guest(sandbox::MachineRecord record, std::shared_ptr<GuestServer> server)
            : record_(std::move(record)), server_(std::move(server))
        {
        }

        [[nodiscard]] const sandbox::MachineRecord& record() const noexcept override
        {
            return record_;
        }

        [[nodiscard]] const std::vector<sandbox::Layer>& layers() const noexcept override
        {
            return layers_;
        }

        [[nodiscard]] std::unique_ptr<sandbox::Channel> connect(const Deadline&) override
        {
            return std::make_unique<sandbox::UnixChannel>(server_->connect());
        }

      private:
        sandbox::MachineRecord record_;
        std::shared_ptr<GuestServer> server_;
        std::vector<sandbox::Layer> layers_;
    };

    void answer(const std::shared_ptr<guest::Call>& call, const protocol::Frame& request) const
    {
        const auto operation = static_cast<Operation>(request.operation);
        if (operation == Operation::retire && in_use) {
            throw Error(ErrorCode::busy, "the session is in use");
        }
        if (operation != Operation::info) {
            call->reply({});
            return;
        }
        protocol::InfoReply info;
        if (in_use) {
            protocol::JobEntry job;
            job.job_id = "job-1-7c3e";
            job.status = "running";
            job.remaining = 90'000;
            info.jobs.push_back(job);
        }
        for (int i = 1; i <= unseen; ++i) {
            protocol::JobEntry job;
            job.job_id = "job-" + std::to_string(i) + "-7c3e";
            job.command = "deploy " + std::to_string(i);
            job.status = "ended";
            job.exit_code = i;
            job.unseen = true;
            info.ended.push_back(job);
        }
        call->reply(protocol::encode(info));
    }

    mutable std::mutex mutex_; ///< a manager collects on a thread of its own
    std::map<std::string, std::shared_ptr<GuestServer>> guests_; ///< by generation
};

struct Fixture {
    tests::TemporaryDirectory directory;
    std::shared_ptr<GuestBackend> backend = std::make_shared<GuestBackend>();

    [[nodiscard]] std::unique_ptr<SessionManager> start() const
    {
        session::Settings settings;
        settings.state_directory = directory / "state";
        settings.lock_wait = std::chrono::seconds(5);
        return std::make_unique<SessionManager>(settings, backend);
    }

    /// A machine of a release that spoke that; returns its generation.
    [[nodiscard]] std::string made_by(protocol::VersionRange versions) const
    {
        backend->versions = versions;
        const auto manager = start();
        const auto lease = tests::read(manager->acquire(work));
        const auto generation = lease.sandbox->machine().record().generation;
        backend->versions = {};
        return generation;
    }
};

constexpr protocol::VersionRange older{.oldest = 0, .newest = 0};
constexpr protocol::VersionRange newer{.oldest = 2, .newest = 3};

} // namespace

TEST_SUITE("session/other_version")
{
    TEST_CASE("a machine whose guest is too old, and that nobody uses, is replaced, and told so")
    {
        const Fixture fixture;
        const auto before = fixture.made_by(older);
        const auto manager = fixture.start();
        const auto lease = manager->acquire(work);
        CHECK(lease.sandbox->machine().record().generation != before);
        CHECK(says(lease, "the sandbox had ended (it was made by an earlier release of berth, to "
                          "which this one cannot speak any more); a fresh one is in use; files in "
                          "the home are kept"));
        CHECK(fixture.backend->machines() == 1);
        CHECK_NOTHROW(lease.sandbox->ping());
        CHECK(manager->acquire(work).notices.empty());
    }

    TEST_CASE("what nobody has seen of one that is replaced is told with its end, once")
    {
        const Fixture fixture;
        (void)fixture.made_by(older);
        fixture.backend->unseen = 5;
        const auto manager = fixture.start();
        SUBCASE("at once") {}
        SUBCASE("not while the machine stays")
        {
            fixture.backend->in_use = true;
            CHECK(tests::error_of([&] { (void)manager->acquire(work); }) == ErrorCode::busy);
            fixture.backend->in_use = false;
        }
        const auto notices = manager->acquire(work).notices;
        REQUIRE(notices.size() == 5);
        CHECK(notices[0].starts_with("the result of job-"));
        CHECK(notices[0].ends_with(
            " (`deploy 3`) reached nobody, since its server or its client went away or gave it up: "
            "it ended with exit 3; what it printed is gone with the sandbox"));
        CHECK(notices[2].find("`deploy 5`") != std::string::npos);
        CHECK(notices[3] ==
              "nor did the results of 2 earlier commands reach anybody; what they printed "
              "is gone with the sandbox");
        CHECK(notices[4].find("the sandbox had ended (it was made by an earlier release") !=
              std::string::npos);
        fixture.backend->unseen = 0; // the next machine's own
        CHECK(manager->acquire(work).notices.empty());
    }

    TEST_CASE("of one that stays its own server tells what nobody has seen, and no other")
    {
        const Fixture fixture;
        (void)fixture.made_by(older);
        fixture.backend->unseen = 2;
        fixture.backend->in_use = true;
        CHECK(tests::error_of([&] { (void)fixture.start()->acquire(work); }) == ErrorCode::busy);
        fixture.backend->unseen = 0;
        fixture.backend->in_use = false;
        const auto notices = fixture.start()->acquire(work).notices;
        REQUIRE(notices.size() == 1);
        CHECK(notices[0].find("it was made by an earlier release") != std::string::npos);
    }

    TEST_CASE("an end that broke off has what nobody has seen, and why it ended, in the books")
    {
        const Fixture fixture;
        (void)fixture.made_by(older);
        fixture.backend->unseen = 2;
        fixture.backend->breaks = true;
        CHECK(tests::error_of([&] { (void)fixture.start()->acquire(work); }));
        fixture.backend->breaks = false;
        fixture.backend->unseen = 0;
        const auto notices = fixture.start()->acquire(work).notices;
        REQUIRE(notices.size() == 3);
        CHECK(notices[0].find("`deploy 1`") != std::string::npos);
        CHECK(notices[1].find("`deploy 2`") != std::string::npos);
        CHECK(notices[2].find("it was made by an earlier release") != std::string::npos);
    }

    TEST_CASE(
        "one that is in use stays, and the error says with what, for how long, and what to do")
    {
        const Fixture fixture;
        const auto before = fixture.made_by(older);
        fixture.backend->in_use = true;
        const auto manager = fixture.start();
        try {
            (void)manager->acquire(work);
            FAIL("it was reached");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::busy);
            CHECK(error.retryable());
            const std::string text = error.what();
            CHECK(text.find("'work' was made by an earlier release of berth (the guest (") !=
                  text.npos);
            CHECK(text.find("speaks protocol 0, the server (") != text.npos);
            CHECK(text.find("it is in use: 1 job (job-1-7c3e for 91 s more at most)") != text.npos);
            CHECK(error.hint().find("`berth sessions kill work`") != std::string::npos);
        }
        CHECK(fixture.backend->machines() == 1);
        fixture.backend->in_use = false;
        CHECK(manager->acquire(work).sandbox->machine().record().generation != before);
    }

    TEST_CASE("a machine of a newer release is left alone")
    {
        const Fixture fixture;
        const auto before = fixture.made_by(newer);
        const auto manager = fixture.start();
        try {
            (void)manager->acquire(work);
            FAIL("it was reached");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::sandbox_unavailable);
            const std::string text = error.what();
            CHECK(text.find("'work' was made by a newer release of berth") != text.npos);
            CHECK(text.find("speaks protocol 2 to 3, the server") != text.npos);
            CHECK(error.hint().find("Start the server in that release") != std::string::npos);
        }
        CHECK(fixture.backend->machines() == 1);
        fixture.backend->versions = newer;
        CHECK(manager->kill(work, false));
        CHECK(fixture.backend->machines() == 0);
    }
}
