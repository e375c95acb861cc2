// Machines that the books do not know: which of them a collection ends, and which never.

#include "sandbox/base/random.hpp"
#include "sandbox/session/installation.hpp"
#include "sandbox/session/key.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using session::Collected;
using session::installation_id;
using session::key_hash;
using tests::ManagerFixture;
using tests::work;

namespace {

struct StraysFixture : ManagerFixture {
    Collected collect(const session::Homes& homes = {.old = true, .older_than = {}}) const
    {
        return start()->collect_leftovers(Deadline::after(10s), {}, homes);
    }

    static sandbox::FoundMachine machine(const std::string& key, const std::string& generation,
                                         std::chrono::seconds slept = 24h * 365)
    {
        return {.record = {.backend = "fake",
                           .id = "stray",
                           .generation = generation,
                           .data = {{"key_hash", key}}},
                .slept = slept};
    }

    [[nodiscard]] int ended() const { return backend->count("purge "); }
};

} // namespace

TEST_SUITE("session/strays")
{
    TEST_CASE_FIXTURE(StraysFixture, "one that no record names is ended, and leaves nothing here")
    {
        const auto key = random_hex(32);
        backend->machines = {machine(key, "lost")};
        CHECK(collect({}).strays == 0); // such as that of a list, which asks nobody
        CHECK(collect().strays == 1);
        CHECK(backend->last_ended.id == "stray");
        CHECK(backend->last_ended.generation == "lost");
        CHECK_FALSE(std::filesystem::exists(settings.state_directory + "/sessions/" + key));
    }

    TEST_CASE_FIXTURE(StraysFixture, "one that a record names, or without a key, is left alone")
    {
        const auto server = start();
        (void)server->acquire(work);
        auto known = machine(key_hash(work), backend->last_spec.generation);
        known.record.id = "fake-" + backend->last_spec.generation.substr(0, 8);
        backend->machines = {known, machine("../../elsewhere", "no key")};
        const auto collected = collect();
        CHECK(collected.strays == 0);
        CHECK(collected.failed.empty());
        CHECK(ended() == 0);
    }

    TEST_CASE_FIXTURE(StraysFixture, "its files are kept for as long as a session's are")
    {
        settings.ttl = 2h;
        settings.home_retention = 3h;
        backend->machines = {machine(random_hex(32), "young", 5h - 1s)};
        CHECK(collect().strays == 0);
        CHECK(collect({.old = true, .older_than = 5h}).strays == 0);
        CHECK(collect({.old = true, .older_than = 4h}).strays == 1);
        settings.home_retention = 0s; // for ever
        backend->machines = {machine(random_hex(32), "old")};
        CHECK(collect().strays == 0);
        settings.home_retention = 3h;
        backend->machines = {machine(random_hex(32), "as old", 5h)};
        CHECK(collect().strays == 1);
    }

    TEST_CASE_FIXTURE(StraysFixture,
                      "an earlier machine of a session's is ended, its present one not")
    {
        const auto server = start();
        (void)server->acquire(work);
        backend->machines = {machine(key_hash(work), "earlier")};
        CHECK(collect().strays == 1);
        CHECK(backend->last_ended.generation == "earlier");
        CHECK(std::filesystem::exists(backend->alive(key_hash(work))));
        CHECK(std::filesystem::exists(folder(work) + "/record.json"));
    }

    TEST_CASE_FIXTURE(StraysFixture, "a second one with the number of a session's is ended")
    {
        const auto server = start();
        (void)server->acquire(work);
        backend->machines = {machine(key_hash(work), backend->last_spec.generation)};
        CHECK(collect().strays == 1);
        CHECK(backend->last_ended.id == "stray");
    }

    TEST_CASE_FIXTURE(StraysFixture, "while somebody makes a machine of its key it is left alone")
    {
        Collected collected;
        backend->before_ready = [&] {
            backend->machines = {machine(key_hash(work), "earlier")};
            collected = collect();
        };
        (void)start()->acquire(work);
        CHECK(collected.strays == 0);
        CHECK_FALSE(collected.busy.empty());
        CHECK(ended() == 0);
    }

    TEST_CASE_FIXTURE(StraysFixture, "books that cannot be read know of everything")
    {
        const auto key = key_hash(work);
        (void)start()->acquire(work);
        std::ofstream(folder(work) + "/record.json") << "{";
        backend->machines = {machine(key, "perhaps")};
        const auto collected = collect();
        CHECK(collected.strays == 0);
        CHECK_FALSE(collected.failed.empty());
    }

    TEST_CASE_FIXTURE(ManagerFixture, "an installation has one id for each of its books, for good")
    {
        CHECK(installation_id(settings, false).empty());
        CHECK_FALSE(std::filesystem::exists(settings.state_directory));
        std::vector<std::string> found(8);
        {
            std::vector<std::jthread> servers;
            for (auto& each : found) {
                servers.emplace_back([&] { each = installation_id(settings, true); });
            }
        }
        const auto id = installation_id(settings, false);
        CHECK(id.size() == 32);
        CHECK(found == std::vector<std::string>(8, id));
        std::filesystem::remove_all(settings.state_directory + "/sessions"); // the books are lost
        CHECK(installation_id(settings, true) == id);

        auto shared = settings;
        shared.redis = session::parse_redis_url("redis://:secret@books:6380/2");
        const auto other = installation_id(shared, false);
        CHECK(other.size() == 32);
        CHECK(other != id);
        auto copied = settings; // to another host
        copied.place = session::this_place("elsewhere", settings.state_directory);
        CHECK(installation_id(copied, false).size() == 32);
        CHECK(installation_id(copied, false) != id);
        shared.redis->password = "another";
        CHECK(installation_id(shared, false) == other);

        std::ofstream(settings.state_directory + "/installation") << "not an id";
        CHECK(installation_id(settings, true).empty()); // rather none than one that others may have
    }
}
