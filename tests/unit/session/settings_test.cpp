#include "tests/unit/session/manager_fixture.hpp"

#include <fstream>
#include <utility>
#include <vector>

using namespace berth;          // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::session; // NOLINT(google-build-using-namespace): the subject of the test
using namespace std::chrono_literals;
using tests::says;
using tests::work;

namespace {

using Fixture = tests::ManagerFixture;

} // namespace

TEST_SUITE("session/settings")
{
    TEST_CASE("each thing a machine is made with is told apart, if somebody asked for it")
    {
        struct Change {
            const char* key;
            void (*make)(Settings&);
        };

        const std::vector<Change> changes{
            {"filter.allow", [](Settings& settings) { settings.filter.allow = {"pypi.org"}; }},
            {"filter.deny", [](Settings& settings) { settings.filter.deny = {"pypi.org"}; }},
            {"filter.intercept", [](Settings& settings) { settings.filter.intercept = true; }},
            {"filter.max_sent", [](Settings& settings) { settings.filter.max_sent = 1; }},
            {"filter.private", [](Settings& settings) { settings.filter.inner = {"10.0.0.1"}; }},
            {"filter.secret",
             [](Settings& settings) { settings.filter.secrets = {"T=http://a.example"}; }},
            {"local.cpus", [](Settings& settings) { settings.limits.cpus = 2.5; }},
            {"local.memory", [](Settings& settings) { ++settings.limits.memory; }},
            {"local.nofile", [](Settings& settings) { ++settings.limits.nofile; }},
            {"local.pids", [](Settings& settings) { ++settings.limits.pids; }},
            {"mount", [](Settings& settings) { settings.mounts = {{"/a", "/b", false}}; }},
            {"network", [](Settings& settings) { settings.network = sandbox::Network::host; }},
            {"output.spill_session", [](Settings& settings) { ++settings.limits.spill_session; }},
            {"output.spill_stream", [](Settings& settings) { ++settings.limits.spill_stream; }},
            {"path_policy", [](Settings& settings) { settings.path_policy = "home"; }},
            {"session.calls", [](Settings& settings) { ++settings.limits.calls; }},
            {"session.idle_pause", [](Settings& settings) { ++settings.idle_pause; }},
            {"session.jobs", [](Settings& settings) { ++settings.limits.jobs; }},
            {"session.quota", [](Settings& settings) { settings.limits.quota = 1; }},
            {"session.on_disconnect",
             [](Settings& settings) { settings.on_disconnect = protocol::OnDisconnect::keep; }},
            {"session.ttl", [](Settings& settings) { ++settings.ttl; }},
            {"template", [](Settings& settings) { settings.template_name = "/srv/t"; }},
        };
        const Conditions made;
        Settings all;
        for (const auto& [key, make] : changes) {
            CAPTURE(key);
            Settings settings;
            make(settings);
            make(all);
            all.asked.insert(key);
            CHECK(differences(settings, made).empty());
            settings.asked = {key};
            CHECK(differences(settings, made) == std::vector<std::string>{key});
            CHECK(differences(settings, settings).empty());
        }
        CHECK(differences(all, made).size() == changes.size());
    }

    TEST_CASE("mounts do not read alike when their texts run together")
    {
        Settings one;
        one.asked = {"mount"};
        Conditions two;
        one.mounts = {{"/a", "b/c", true}};
        two.mounts = {{"/ab", "/c", true}};
        CHECK(differences(one, two).size() == 1);
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that was made with other settings is told")
    {
        (void)start()->acquire(work);
        settings.network = sandbox::Network::host;
        settings.limits.pids = 77;
        settings.asked = {"network", "mount"};
        const auto manager = start();
        const auto lease = manager->acquire(work);
        CHECK(says(lease, "other settings than this server asks for (network); those"));
        CHECK(says(lease, "`berth sessions kill " + start()->facts(work).sandbox_id + '`'));
        CHECK(manager->acquire(work).notices.empty());
        // A connection that broke is no reason to say it again.
        manager->report_lost(work, lease);
        CHECK(manager->acquire(work).notices.empty());
        CHECK(backend->count("create") == 1);
    }

    TEST_CASE("excess is what a machine can reach beyond what was asked")
    {
        Settings settings;
        Conditions made;
        made.network = sandbox::Network::host;
        made.mounts = {{"/srv/a", "/mnt/a", true}, {"/srv/b", "/mnt/b", false}};
        CHECK(excess(settings, made).empty()); // nobody asked
        settings.asked = {"network", "mount"};
        CHECK(excess(settings, made) == std::vector<std::string>{"--network host",
                                                                 "--mount /srv/a:/mnt/a:rw",
                                                                 "--mount /srv/b:/mnt/b:ro"});
        settings.network = sandbox::Network::host;
        settings.mounts = {{"/srv/a", "/mnt/a", false}, {"/srv/b", "/mnt/b", true}};
        CHECK(excess(settings, made) == std::vector<std::string>{"--mount /srv/a:/mnt/a:rw"});
        settings.mounts[0].writable = true;
        settings.mounts[1].source = "/srv/c";
        CHECK(excess(settings, made) == std::vector<std::string>{"--mount /srv/b:/mnt/b:ro"});
        settings.mounts = made.mounts;
        settings.mounts.push_back({"/srv/d", "/mnt/d", true});
        CHECK(excess(settings, made).empty()); // the machine is the stricter one
    }

    TEST_CASE("a filtered network is less than the host's, and its rules are compared")
    {
        using sandbox::Network;
        Settings settings;
        settings.asked = {"network"};
        settings.network = Network::filtered;
        settings.filter = {.allow = {"a.example", "b.example"}, .deny = {"c.example"}, .inner = {}};
        Conditions made = settings;
        CHECK(excess(settings, made).empty());
        made.filter.allow = {"b.example"};
        made.filter.deny = {"c.example", "d.example"};
        CHECK(excess(settings, made).empty()); // the stricter one
        made.network = Network::none;
        CHECK(excess(settings, made).empty());
        made.network = Network::host;
        CHECK(excess(settings, made) == std::vector<std::string>{"--network host"});
        made.network = Network::filtered;
        const std::vector<std::string> other{"--network filtered with other rules"};
        made.filter = {.allow = {"e.example"}, .deny = {"c.example"}, .inner = {}};
        CHECK(excess(settings, made) == other);
        made.filter = {.allow = {"a.example"}, .deny = {}, .inner = {}};
        CHECK(excess(settings, made) == other);
        made.filter = {.allow = {"a.example"},
                       .deny = {"c.example"},
                       .inner = {},
                       .secrets = {"T=http://a.example"}};
        CHECK(excess(settings, made) == other);
        made.filter = {.allow = {"a.example"}, .deny = {"c.example"}, .inner = {"10.0.0.0/8"}};
        CHECK(excess(settings, made) == other);
        made.filter = settings.filter;
        made.filter.max_sent = 10;
        CHECK(excess(settings, made).empty());
        settings.filter.max_sent = 5;
        CHECK(excess(settings, made) == other);
        made.filter.max_sent = 0;
        CHECK(excess(settings, made) == other);
        made.filter.max_sent = 5;
        CHECK(excess(settings, made).empty());
        settings.network = Network::none;
        CHECK(excess(settings, made) == std::vector<std::string>{"--network filtered"});
        settings.network = Network::host;
        CHECK(excess(settings, made).empty());
    }

    TEST_CASE_FIXTURE(Fixture, "a machine that can reach more than this server allows is refused")
    {
        settings.network = sandbox::Network::host;
        settings.asked = {"network"};
        (void)start()->acquire(work);
        settings.network = sandbox::Network::none;
        const auto manager = start();
        for (int i = 0; i < 2; ++i) {
            try {
                (void)manager->acquire(work);
                FAIL("it was given out");
            } catch (const Error& error) {
                CHECK(error.code() == ErrorCode::sandbox_unavailable);
                CHECK(std::string(error.what()).find("--network host") != std::string::npos);
                CHECK(error.hint().find("berth sessions kill work") != std::string::npos);
            }
        }
        CHECK(manager->facts(work).state == "running");
        CHECK(manager->kill(work, false));
        (void)manager->acquire(work);
        CHECK(manager->facts(work).network == sandbox::Network::none);
    }

    TEST_CASE_FIXTURE(Fixture, "of another mount at the same place both are named")
    {
        settings.asked = {"mount"};
        settings.mounts = {{"/srv/a", "/home/user/p", true}};
        (void)start()->acquire(work);
        const auto refusal = [&] {
            try {
                (void)start()->acquire(work);
            } catch (const Error& error) {
                CHECK(error.hint().find("--session NAME") != std::string::npos);
                return std::string(error.what());
            }
            return std::string();
        };
        settings.mounts = {{"/srv/b", "/home/user/p", true}};
        CHECK(refusal() == "the sandbox of session 'work' was made with --mount "
                           "/srv/a:/home/user/p:rw, and this server asks for --mount "
                           "/srv/b:/home/user/p:rw");
        settings.mounts.clear();
        CHECK(refusal().ends_with("/home/user/p:rw, and this server asks for less"));
    }

    TEST_CASE_FIXTURE(Fixture, "a server that was told nothing takes a machine as it is")
    {
        settings.mounts = {{"/srv/a", "/home/user/a", true}};
        settings.network = sandbox::Network::host;
        settings.limits.memory = 12345678;
        settings.limits.cpus = 0.5;
        settings.path_policy = "home";
        settings.ttl = 90min;
        settings.asked = {"mount", "network", "local.memory"};
        (void)start()->acquire(work);
        const auto made = std::exchange(settings, make_settings());
        const auto manager = start();
        CHECK(manager->facts({"ann", "other"}).limits == settings.limits);
        CHECK(manager->acquire(work).notices.empty());
        // And tells of it as it is, not as this server would have made it.
        const auto facts = manager->facts(work);
        CHECK(facts.limits == made.limits);
        CHECK(facts.network == made.network);
        CHECK(facts.mounts == made.mounts);
        CHECK(facts.why.find("after 5400 s without use") != std::string::npos);
        CHECK(manager->kill(work, false));
        CHECK(manager->facts(work).limits == settings.limits);
        CHECK(manager->facts(work).mounts.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "a record of before the conditions were kept is used without a word")
    {
        (void)start()->acquire(work);
        const std::string record = folder(work) + "/record.json";
        auto text = text_of(record);
        const auto from = text.find("\"made_with\"");
        REQUIRE(from != std::string::npos);
        text.replace(from, 11, "\"unknown\"");
        std::ofstream(record) << text;
        settings.network = sandbox::Network::host;
        settings.asked = {"network"};
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture,
                      "a template is a condition; a record of before there were any has none")
    {
        settings.template_name = "/srv/t";
        settings.asked = {"template"};
        (void)start()->acquire(work);
        CHECK(start()->facts(work).template_name == "/srv/t");
        CHECK(start()->acquire(work).notices.empty());
        const std::string record = folder(work) + "/record.json";
        auto text = text_of(record);
        const std::string field = "\"template\": \"/srv/t\",";
        REQUIRE(text.find(field) != std::string::npos);
        std::ofstream(record) << text.erase(text.find(field), field.size());
        CHECK(start()->facts(work).template_name.empty());
        CHECK(says(start()->acquire(work), "other settings than this server asks for (template);"));
        CHECK(need_another(settings, Conditions()));
        settings.template_name.clear(); // --template "": the host's own
        CHECK(start()->acquire(work).notices.empty());
    }

    TEST_CASE_FIXTURE(Fixture, "what the host replaces of a mount is told once for each change")
    {
        const auto manager = start();
        CHECK(manager->acquire(work).notices.empty());
        *backend->replaced = {"/srv/a"};
        CHECK(says(manager->acquire(work), "mounted from /srv/a: "));
        CHECK(manager->acquire(work).notices.empty());
        *backend->replaced = {"/srv/a", "/srv/b"};
        CHECK(says(manager->acquire(work), "mounted from /srv/a, /srv/b: "));
        CHECK(manager->acquire(work).notices.empty());
        backend->replaced->clear();
        CHECK(manager->acquire(work).notices.empty());
        *backend->replaced = {"/srv/a"};
        CHECK(says(manager->acquire(work), "mounted from /srv/a: "));
        *backend->replaced = {"/srv/b"};
        end_machine(work); // which nobody has noticed yet: of which machine would it be told?
        CHECK_FALSE(says(manager->acquire(work), "mounted from"));
    }

    TEST_CASE_FIXTURE(Fixture,
                      "of what the host has no more no machine is made, and no call is wrong")
    {
        const auto manager = start();
        backend->before_ready = [] {
            throw Error(ErrorCode::invalid_argument, "mount source /srv/a: gone", "make it anew");
        };
        try {
            (void)manager->acquire(work);
            FAIL("there is no machine");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::sandbox_unavailable);
            CHECK(std::string(error.what()) == "mount source /srv/a: gone");
            CHECK(error.hint() == "make it anew");
        }
        backend->before_ready = {};
        CHECK(manager->acquire(work).notices.empty());
    }
}
