#include "sandbox/base/io.hpp"
#include "sandbox/session/session_manager.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/session/manager_fixture.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

using namespace berth;
using namespace std::chrono_literals;
using session::key_hash;
using session::SessionId;
using session::SessionManager;
using tests::error_of;
using tests::says;
using tests::work;

namespace {

using Fixture = tests::ManagerFixture;

} // namespace

TEST_SUITE("session/session_manager")
{
    TEST_CASE_FIXTURE(Fixture, "nothing is made before the first acquire")
    {
        const auto manager = start();
        CHECK(manager->list().empty());
        CHECK(manager->facts(work).state == "absent");
        CHECK_FALSE(manager->kill(work, true));
        CHECK_FALSE(std::filesystem::exists(settings.state_directory));
        CHECK(backend->count("create") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "calls of one session share its machine")
    {
        settings.limits.pids = 77;
        settings.path_policy = "home";
        const auto manager = start();
        const auto first = manager->acquire(work);
        const auto second = manager->acquire(work);
        CHECK(first.sandbox == second.sandbox);
        CHECK(first.notices.empty());
        CHECK(backend->count("create") == 1);
        const auto& spec = backend->last_spec;
        CHECK(spec.key_hash == key_hash(work));
        CHECK(spec.session == "work");
        CHECK(spec.limits.pids == 77);
        CHECK(spec.path_policy == "home");
        CHECK(spec.idle_end == settings.ttl);
        CHECK_FALSE(spec.ends_with_server);
        CHECK(spec.generation.size() == 32);
        CHECK(spec.token.size() == 64);
    }

    TEST_CASE_FIXTURE(Fixture, "the books are for their owner, and the token is not in them")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        struct stat status{};
        for (const auto& path : {settings.state_directory, folder(work)}) {
            REQUIRE(::stat(path.c_str(), &status) == 0);
            CHECK((status.st_mode & 0777U) == 0700);
        }
        for (const char* name : {"/record.json", "/token", "/lock"}) {
            CAPTURE(name);
            REQUIRE(::stat((folder(work) + name).c_str(), &status) == 0);
            CHECK((status.st_mode & 0777U) == 0600);
        }
        CHECK(text_of(folder(work) + "/token") == backend->last_spec.token);
        CHECK(text_of(folder(work) + "/record.json").find(backend->last_spec.token) ==
              std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "another server attaches to the living machine, without a word")
    {
        const auto first = start();
        const auto id = first->acquire(work).sandbox->machine().record().id;
        const auto second = start();
        const auto lease = second->acquire(work);
        CHECK(lease.sandbox->machine().record().id == id);
        CHECK(lease.notices.empty());
        CHECK(backend->count("create") == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "a named session outlives its server")
    {
        (void)start()->acquire(work);
        CHECK(std::filesystem::exists(backend->alive(key_hash(work))));
        CHECK(backend->count("destroy") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a lost machine is replaced and told once")
    {
        const auto manager = start();
        const auto lost = manager->acquire(work);
        end_machine(work);
        manager->report_lost(work, lost);
        CHECK(manager->facts(work).state == "lost");
        const auto fresh = manager->acquire(work);
        CHECK(
            says(fresh, "the sandbox was lost; a fresh one is in use; files in the home are kept"));
        CHECK(fresh.sandbox != lost.sandbox);
        CHECK(manager->acquire(work).notices.empty());
        CHECK(backend->count("create") == 2);
        CHECK(backend->count("destroy") >= 1); // the collector may have been there, too
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "the next server says that the machine was lost, too")
    {
        (void)start()->acquire(work);
        end_machine(work);
        const auto manager = start();
        CHECK(says(manager->acquire(work), "the sandbox was lost"));
        CHECK(manager->acquire(work).notices.empty());
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "a broken call on a living machine is no loss")
    {
        const auto manager = start();
        const auto lease = manager->acquire(work);
        manager->report_lost(work, lease);
        CHECK(manager->acquire(work).notices.empty());
        CHECK(backend->count("create") == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "an old lease says nothing of the present machine")
    {
        const auto manager = start();
        const auto old = manager->acquire(work);
        end_machine(work);
        manager->report_lost(work, old);
        const auto present = manager->acquire(work);
        manager->report_lost(work, old);
        CHECK(manager->acquire(work).sandbox == present.sandbox);
        CHECK(backend->count("create") == 2);
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that another server replaced is told to this one's agent")
    {
        const auto first = start();
        const auto second = start();
        (void)first->acquire(work);
        const auto old = second->acquire(work);
        end_machine(work);
        first->report_lost(work, first->acquire(work));
        (void)first->acquire(work);
        second->report_lost(work, old);
        CHECK(says(second->acquire(work), "the sandbox was replaced by a fresh one"));
        CHECK(backend->count("create") == 2);
    }

    TEST_CASE_FIXTURE(Fixture, "why a machine was ended is known when the next one is there")
    {
        const auto first = start();
        const auto old = first->acquire(work);
        for (int i = 0; i < 2; ++i) {
            REQUIRE(start()->kill(work, false));
            CHECK(first->why_ended(work, old) == "it was ended on request");
            (void)start()->acquire(work);
            CHECK(first->why_ended(work, old) == "it was ended on request");
        }
        end_machine(work); // nobody ends this one
        const auto lost = start()->acquire(work);
        end_machine(work);
        (void)start()->acquire(work);
        CHECK(first->why_ended(work, lost).empty());
        for (int i = 0; i < 20; ++i) {
            (void)start()->acquire(work);
            REQUIRE(start()->kill(work, false));
        }
        CHECK(first->why_ended(work, old).empty()); // the books keep a few
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that ended for want of use was not lost")
    {
        (void)start()->acquire(work);
        end_machine(work);
        set_age(work, settings.ttl + 1min);
        const auto manager = start();
        CHECK(manager->facts(work).state == "ended");
        CHECK(says(manager->acquire(work), "the sandbox had ended (it was not used for its time "
                                           "to live); a fresh one is in use"));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "kill ends the machine and keeps home and books; purge keeps nothing")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        CHECK(manager->kill(work, false));
        CHECK(manager->facts(work).state == "ended");
        CHECK(std::filesystem::exists(backend->home(key_hash(work))));
        CHECK_FALSE(manager->kill(work, false));
        CHECK(says(manager->acquire(work), "the sandbox had ended (it was ended on request); a "
                                           "fresh one is in use; files in the home are kept"));
        CHECK(manager->kill(work, true));
        CHECK_FALSE(std::filesystem::exists(backend->home(key_hash(work))));
        CHECK_FALSE(std::filesystem::exists(folder(work)));
        CHECK(manager->list().empty());
        CHECK(says(manager->acquire(work), "deleted with its files"));
        CHECK(backend->count("create") == 3);
    }

    TEST_CASE_FIXTURE(Fixture, "an ended session can still be purged")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        CHECK(manager->kill(work, false));
        CHECK(manager->kill(work, true));
        CHECK_FALSE(std::filesystem::exists(backend->home(key_hash(work))));
        CHECK_FALSE(manager->kill(work, true));
    }

    TEST_CASE_FIXTURE(Fixture, "every name has a folder of its own")
    {
        const std::vector<SessionId> ids{{"a", "bc"},
                                         {"ab", "c"},
                                         {"abc", ""},
                                         {"a", "b/c"},
                                         {"a/b", "c"},
                                         {"a", "../../etc"},
                                         {"", "a"},
                                         {"1:a", "bc"},
                                         {"a", ":bc"},
                                         {"a", "b\nc"},
                                         {"a", "\xc3\xbc\xe4\xba\x8c"},
                                         {"a", std::string(10'000, 'n')},
                                         {"a", std::string("b\0c", 3)},
                                         {"a", "\xff\xfe"}};
        std::set<std::string> hashes;
        for (const auto& id : ids) {
            CHECK(hashes.insert(key_hash(id)).second);
            CHECK(key_hash(id).size() == 64);
        }
        const auto manager = start();
        for (const auto& id : ids) {
            (void)manager->acquire(id);
        }
        CHECK(backend->count("create") == static_cast<int>(ids.size()));
        CHECK(manager->list().size() == ids.size());
        CHECK(manager->names().size() == ids.size());
        for (const auto& id : ids) {
            CHECK(manager->facts(id).state == "running");
        }
    }

    TEST_CASE_FIXTURE(Fixture, "an unnamed session ends with its server and leaves nothing")
    {
        const SessionId unnamed{"ann", ""};
        auto manager = start();
        (void)manager->acquire(unnamed);
        CHECK(backend->last_spec.ends_with_server);
        CHECK(backend->last_spec.idle_end.count() == 0);
        const auto facts = manager->facts(unnamed);
        CHECK(facts.state == "running");
        CHECK(facts.why.find("when its server stops") != std::string::npos);
        CHECK(facts.session.empty());
        CHECK_FALSE(facts.on_disconnect);
        CHECK_FALSE(manager->list().at(0).on_disconnect);
        CHECK(manager->list().at(0).session.starts_with("unnamed-")); // by this it can be ended
        const auto other = start();
        (void)other->acquire(unnamed);
        CHECK(backend->count("create") == 2); // another server's unnamed session is another one
        manager->close();
        CHECK(backend->count("purge") == 1);
        CHECK(other->list().size() == 1);
        CHECK(error_of([&] { (void)manager->acquire(unnamed); }) == ErrorCode::sandbox_unavailable);
        manager.reset();
        CHECK(backend->count("purge") == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "the books tell principal, times, home and when it ends")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        set_age(work, 1h);
        const auto facts = manager->list().at(0);
        CHECK(facts.session == "work");
        CHECK(facts.principal == "ann");
        CHECK(facts.backend == "fake");
        CHECK(facts.sandbox_id.starts_with("fake-"));
        CHECK(facts.state == "running");
        CHECK(facts.home == backend->home(key_hash(work)));
        CHECK(facts.created > facts.last_used);
        CHECK(facts.why.find("12 h without use") != std::string::npos);
        CHECK(facts.why.find("a connected server or a running job is use") != std::string::npos);
        CHECK(facts.on_disconnect == protocol::OnDisconnect::idle);
    }

    TEST_CASE_FIXTURE(Fixture, "what the last server's leaving does comes before the time to live")
    {
        settings.asked = {"session.on_disconnect"};
        settings.on_disconnect = protocol::OnDisconnect::kill;
        const auto manager = start();
        CHECK(manager->facts(work).on_disconnect == protocol::OnDisconnect::kill);
        CHECK_FALSE(manager->facts({"ann", ""}).on_disconnect);
        (void)manager->acquire(work);
        CHECK(manager->list().at(0).why ==
              "it ends, with all that runs in it, when its last server leaves "
              "(session.on_disconnect = kill); its home is kept for 7 d more");
        settings.on_disconnect = protocol::OnDisconnect::now;
        const auto other = start();
        (void)other->acquire({"ann", "other"});
        const auto facts = other->facts({"ann", "other"});
        CHECK(facts.on_disconnect == protocol::OnDisconnect::now);
        CHECK(facts.why.starts_with("it is paused, with its jobs, when its last server leaves "
                                    "(session.on_disconnect = now); it ends after 12 h without"));
    }

    TEST_CASE_FIXTURE(Fixture, "the facts have what a machine of this server gets")
    {
        settings.limits.memory = 123;
        settings.network = sandbox::Network::host;
        settings.mounts = {{"/a", "/b", true}};
        const auto manager = start();
        for (int round = 0; round < 2; ++round) { // before there is a machine, and then
            const auto facts = manager->facts(work);
            CHECK(facts.limits.memory == 123);
            CHECK(facts.network == sandbox::Network::host);
            CHECK(facts.mounts.size() == 1);
            (void)manager->acquire(work);
        }
    }

    TEST_CASE_FIXTURE(Fixture, "use is noted at attach, then not with every call")
    {
        const auto first = start();
        (void)first->acquire(work);
        set_age(work, 1h);
        const auto before = first->facts(work).last_used;
        (void)first->acquire(work);
        CHECK(first->facts(work).last_used == before);
        (void)start()->acquire(work);
        CHECK(first->facts(work).last_used > before);
    }

    TEST_CASE_FIXTURE(Fixture, "where no sandbox can work the reason and the remedy are told")
    {
        backend->available = false;
        const auto manager = start();
        try {
            (void)manager->acquire(work);
            FAIL("it was made");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::sandbox_unavailable);
            CHECK(std::string(error.what()) == "no fakes here");
            CHECK(error.hint() == "allow fakes");
        }
        CHECK_FALSE(std::filesystem::exists(folder(work)));
        backend->available = true;
        CHECK(manager->acquire(work).sandbox != nullptr);
    }

    TEST_CASE_FIXTURE(Fixture, "a creation that fails leaves no session, and the next one works")
    {
        const auto manager = start();
        backend->before_ready = [] { throw Error(ErrorCode::backend_error, "no luck"); };
        CHECK(error_of([&] { (void)manager->acquire(work); }) == ErrorCode::backend_error);
        CHECK(manager->list().empty());
        CHECK_FALSE(std::filesystem::exists(folder(work)));
        backend->before_ready = {};
        CHECK(manager->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "a replacement that fails does not forget what must be told")
    {
        const auto manager = start();
        const auto lease = manager->acquire(work);
        end_machine(work);
        manager->report_lost(work, lease);
        backend->before_ready = [] { throw Error(ErrorCode::backend_error, "no luck"); };
        CHECK(error_of([&] { (void)manager->acquire(work); }) == ErrorCode::backend_error);
        CHECK(manager->facts(work).state == "lost");
        backend->before_ready = {};
        CHECK(says(manager->acquire(work), "the sandbox was lost"));
    }

    TEST_CASE_FIXTURE(Fixture, "a session is never continued on another backend")
    {
        (void)start()->acquire(work);
        backend->backend_name = "other";
        const auto manager = start();
        CHECK(error_of([&] { (void)manager->acquire(work); }) == ErrorCode::sandbox_unavailable);
        CHECK(error_of([&] { (void)manager->kill(work, true); }) == ErrorCode::sandbox_unavailable);
        CHECK(backend->count("create") == 1);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "a damaged record is an error that names the file, and kill clears it")
    {
        const auto manager = start();
        (void)manager->acquire(work);
        const std::string record = folder(work) + "/record.json";
        const std::string good = text_of(record);
        SUBCASE("no JSON")
        {
            std::ofstream(record) << "{ half";
        }
        SUBCASE("nothing in it")
        {
            std::ofstream(record) << "{}";
        }
        SUBCASE("nested without end")
        {
            std::ofstream(record) << std::string(100'000, '[');
        }
        SUBCASE("of a later version")
        {
            std::string later = good;
            later.replace(later.find("\"version\": 1"), 12, "\"version\": 9");
            std::ofstream(record) << later;
        }
        SUBCASE("another type")
        {
            std::string other = good;
            other.replace(other.find("\"epoch\": 1"), 10, "\"epoch\": []");
            std::ofstream(record) << other;
        }
        SUBCASE("a limit that is none")
        {
            std::string other = good;
            other.replace(other.find("\"calls\": 8"), 10, "\"calls\": {}");
            std::ofstream(record) << other;
        }
        SUBCASE("the token is gone")
        {
            std::filesystem::remove(folder(work) + "/token");
        }
        const auto second = start();
        try {
            (void)second->acquire(work);
            FAIL("it was used");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::backend_error);
            CHECK(std::string(error.what()).find(record) != std::string::npos);
            CHECK_FALSE(error.hint().empty());
        }
        CHECK(backend->count("create") == 1);
        CHECK(second->list().at(0).state == "damaged");
        CHECK(second->list().at(0).session == second->names().at(0).id.session);
        CHECK(second->kill(work, false));
        CHECK(backend->count("destroy") == 1);
        CHECK(std::filesystem::exists(backend->home(key_hash(work))));
        // Who had the machine before is not told that its files are gone: they are not.
        manager->report_lost(work, manager->acquire(work));
        CHECK(says(manager->acquire(work), "files in the home are kept"));
        CHECK(second->acquire(work).sandbox != nullptr);
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a record that a power loss emptied is a lost machine")
    {
        (void)start()->acquire(work);
        std::ofstream record(folder(work) + "/record.json", std::ios::trunc);
        SUBCASE("whose length did not come there") {}
        SUBCASE("whose length did")
        {
            record << std::string(900, '\0');
        }
        record.close();
        const auto manager = start();
        CHECK(says(manager->acquire(work), "the sandbox was lost"));
        CHECK(manager->facts(work).session == "work");
        CHECK(backend->count("TWICE") == 0);
    }

    TEST_CASE_FIXTURE(Fixture,
                      "what a power loss left nowhere to be found is not told as kept, nor "
                      "as gone")
    {
        backend->bound = false;
        (void)start()->acquire(work);
        std::ofstream(folder(work) + "/record.json", std::ios::trunc).flush();
        std::filesystem::remove(backend->alive(key_hash(work)));
        std::filesystem::remove(backend->home(key_hash(work))); // as no other box has it
        CHECK(says(start()->acquire(work), "whoever runs this server may still find it"));
    }

    TEST_CASE_FIXTURE(Fixture, "a state directory that others may write to is refused")
    {
        std::filesystem::create_directory(settings.state_directory);
        REQUIRE(::chmod(settings.state_directory.c_str(), 0777) == 0);
        const auto manager = start();
        CHECK(error_of([&] { (void)manager->acquire(work); }) == ErrorCode::sandbox_unavailable);
        CHECK(backend->count("create") == 0);
        REQUIRE(::chmod(settings.state_directory.c_str(), 0700) == 0);
        CHECK(manager->acquire(work).sandbox != nullptr);
    }
}
