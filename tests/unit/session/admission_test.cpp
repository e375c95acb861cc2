#include "sandbox/session/admission.hpp"
#include "sandbox/session/session_manager.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using tests::error_of;

namespace {

using Fixture = tests::ManagerFixture;

session::SessionId of(const char* principal, const std::string& name)
{
    return {principal, name, {}};
}

Error refusal_of(session::SessionManager& manager, const session::SessionId& id)
{
    try {
        (void)manager.acquire(id);
    } catch (const Error& error) {
        return error;
    }
    return {ErrorCode::internal, "it was not refused"};
}

/// The books of a state directory that count what is read in them, and can be overtaken.
class CountingRegistry : public session::Registry {
  public:
    explicit CountingRegistry(const std::string& state) : books_(session::make_file_registry(state))
    {
    }

    std::size_t read = 0;
    std::function<void(const std::string& key)> before_lock = [](const std::string&) {};

    std::unique_ptr<Hold> lock(const std::string& key, const Deadline& deadline) override
    {
        before_lock(key);
        return books_->lock(key, deadline);
    }

    std::unique_ptr<Hold> claim(const std::string& key) override { return books_->claim(key); }

    bool was_erased(const std::string& key) override { return books_->was_erased(key); }

    std::optional<session::Record> find(const std::string& key) override
    {
        ++read;
        return books_->find(key);
    }

    void put(const std::string& key, const session::Record& record) override
    {
        books_->put(key, record);
    }

    void erase(const std::string& key) override { books_->erase(key); }

    void touch(const std::string& key) noexcept override { books_->touch(key); }

    std::vector<std::string> keys() override { return books_->keys(); }

    std::vector<std::string> may_have_machine() override { return books_->may_have_machine(); }

    std::vector<std::string> may_be_of(const std::string& principal,
                                       const std::vector<std::string>& keys) override
    {
        return books_->may_be_of(principal, keys);
    }

    std::vector<std::string> abandoned() override { return books_->abandoned(); }

  private:
    std::unique_ptr<session::Registry> books_;
};

/// As its record says while a server makes its machine.
void put_creating(session::Registry& registry, const std::string& key)
{
    auto record = registry.find(key);
    REQUIRE(record);
    record->state = session::State::creating;
    registry.put(key, *record);
}

} // namespace

TEST_SUITE("session/admission")
{
    TEST_CASE_FIXTURE(Fixture, "below a limit no record is read, and at one only those it is about")
    {
        settings.max_sessions = 100;
        const auto manager = start();
        for (int i = 0; i < 20; ++i) {
            (void)manager->acquire(of(i < 3 ? "ann" : "bob", "s" + std::to_string(i)));
        }
        CountingRegistry registry(settings.state_directory);
        const session::Admission admission(settings, *backend, registry);
        const auto enter = [&](const char* principal) {
            registry.read = 0;
            const auto id = of(principal, "new");
            (void)admission.enter(id, session::key_hash(id));
            return registry.read;
        };
        CHECK(enter("ann") == 0);
        settings.max_sessions_per_principal = 4;
        CHECK(enter("ann") == 0);
        settings.max_sessions_per_principal = 3;
        REQUIRE(manager->kill(of("ann", "s0"), false)); // a home without a machine
        CHECK(enter("ann") == 0);
        end_machine(of("ann", "s1"));
        (void)manager->acquire(of("ann", "s0"));
        CHECK(enter("ann") == 3); // one of them has died, as its record does not say
        settings.max_sessions = 20;
        CHECK(enter("ann") == 20);
    }

    TEST_CASE_FIXTURE(Fixture, "one machine more than there may be is refused, and leaves nothing")
    {
        settings.max_sessions = 2;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        (void)manager->acquire(of("bob", "b"));
        const auto error = refusal_of(*manager, of("ann", "c"));
        CHECK(error.code() == ErrorCode::busy);
        CHECK(error.retryable());
        CHECK(std::string(error.what()) ==
              "session.max = 2: so many sessions have a machine already");
        CHECK(error.hint().starts_with("Try again after 20"));
        const auto wait = std::stol(error.details().at("retry_after"));
        CHECK(wait > 0);
        CHECK(wait <= std::chrono::seconds(settings.ttl).count());
        CHECK_FALSE(std::filesystem::exists(folder(of("ann", "c"))));
        CHECK(backend->count("create") == 2);
        (void)manager->acquire(of("ann", "a")); // one that has a machine is no more
        (void)start()->acquire(of("bob", "b"));
    }

    TEST_CASE_FIXTURE(Fixture, "what has ended or died makes room")
    {
        settings.max_sessions = 1;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        SUBCASE("ended")
        {
            REQUIRE(manager->kill(of("ann", "a"), false));
        }
        SUBCASE("died")
        {
            end_machine(of("ann", "a"));
        }
        (void)manager->acquire(of("ann", "b"));
        CHECK(error_of([&] { (void)start()->acquire(of("ann", "a")); }) == ErrorCode::busy);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "one that nothing ends counts for its time to live, by the books alone")
    {
        settings.max_sessions = 1;
        backend->ends = false;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        end_machine(of("ann", "a")); // which whoever has it would have to be asked for
        const auto error = refusal_of(*manager, of("ann", "b"));
        CHECK(error.hint().find("when one counts no longer if nobody uses it") !=
              std::string::npos);
        set_age(of("ann", "a"), settings.ttl - 1min);
        const auto wait =
            std::stol(refusal_of(*manager, of("ann", "b")).details().at("retry_after"));
        CHECK(wait <= 60);
        set_age(of("ann", "a"), settings.ttl + 1min);
        (void)manager->acquire(of("ann", "b"));
    }

    TEST_CASE_FIXTURE(Fixture, "a refused session that has a home keeps it, and its state")
    {
        settings.max_sessions = 1;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        REQUIRE(manager->kill(of("ann", "a"), false));
        (void)manager->acquire(of("ann", "b"));
        CHECK_THROWS_AS((void)manager->acquire(of("ann", "a")), Error);
        CHECK(manager->facts(of("ann", "a")).state == "ended");
        CHECK(std::filesystem::exists(backend->home(session::key_hash(of("ann", "a")))));
    }

    TEST_CASE_FIXTURE(Fixture, "one that is made between two looks at its record counts")
    {
        settings.max_sessions = 1;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        CountingRegistry registry(settings.state_directory);
        const auto key = session::key_hash(of("ann", "a"));
        const auto made = registry.find(key);
        put_creating(registry, key);
        registry.before_lock = [&](const std::string& locked) {
            if (locked == key) {
                registry.put(key, *made);
            }
        };
        const session::Admission admission(settings, *backend, registry);
        const auto id = of("ann", "b");
        CHECK(error_of([&] { (void)admission.enter(id, session::key_hash(id)); }) ==
              ErrorCode::busy);
    }

    TEST_CASE_FIXTURE(Fixture, "of one that comes to nothing meanwhile no claim is taken away")
    {
        settings.max_sessions = 1;
        (void)start()->acquire(of("ann", "a")); // one that stays would clear up, with the lock
        CountingRegistry registry(settings.state_directory);
        const auto key = session::key_hash(of("ann", "a"));
        put_creating(registry, key);
        std::unique_ptr<session::Registry::Hold> claim;
        bool begins = false;
        SUBCASE("of a server that begins")
        {
            begins = true;
        }
        SUBCASE("and nothing is left of it") {}
        registry.before_lock = [&](const std::string& locked) {
            if (locked == key) {
                registry.erase(key);
                claim = begins ? registry.claim(key) : nullptr;
            }
        };
        const session::Admission admission(settings, *backend, registry);
        const auto id = of("ann", "b");
        CHECK(admission.enter(id, session::key_hash(id)));
        REQUIRE((claim != nullptr) == begins);
        CHECK((!begins || claim->holds()));
        CHECK(std::filesystem::exists(folder(of("ann", "a"))) == begins);
    }

    TEST_CASE_FIXTURE(Fixture, "one principal's machines are counted apart")
    {
        settings.max_sessions_per_principal = 1;
        const auto manager = start();
        (void)manager->acquire(of("ann", "a"));
        (void)manager->acquire(of("bob", "a"));
        CHECK(std::string(refusal_of(*manager, of("ann", "b")).what()) ==
              "session.max_per_principal = 1: ann has so many sessions with a machine already");
    }

    TEST_CASE_FIXTURE(Fixture, "of many that race no more get one than there may be, and no fewer")
    {
        constexpr int racers = 12;
        settings.max_sessions = 5;
        std::atomic<int> served = 0;
        std::atomic<int> refused = 0;
        std::vector<std::jthread> threads;
        for (int i = 0; i < racers; ++i) {
            threads.emplace_back([&, i] {
                try {
                    (void)start()->acquire(of("ann", "s" + std::to_string(i)));
                    ++served;
                } catch (const Error& error) {
                    refused += error.code() == ErrorCode::busy ? 1 : 0;
                }
            });
        }
        threads.clear();
        CHECK(served == 5);
        CHECK(refused == racers - 5);
        CHECK(backend->count("create") == 5);
        const auto sessions =
            std::filesystem::directory_iterator(settings.state_directory + "/sessions");
        CHECK(std::distance(begin(sessions), end(sessions)) == 5); // no turn is left there
    }
}
