#include "sandbox/session/condition_keys.hpp"
#include "sandbox/session/terms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using session::Conditions;
using session::Settings;
using session::take_on;
using session::terms_for;

namespace {

const std::vector<std::string> all{
    "local.cpus",         "local.memory", "local.nofile",          "local.pids",    "session.calls",
    "session.idle_pause", "session.jobs", "session.on_disconnect", "session.quota", "session.ttl"};

Settings others()
{
    Settings settings;
    settings.limits.memory = 1;
    settings.limits.pids = 2;
    settings.limits.cpus = 3;
    settings.limits.nofile = 4;
    settings.limits.calls = 5;
    settings.limits.jobs = 6;
    settings.limits.quota = 7;
    settings.ttl = 8s;
    settings.idle_pause = 9ms;
    settings.on_disconnect = protocol::OnDisconnect::now;
    settings.asked.insert(all.begin(), all.end());
    return settings;
}

} // namespace

TEST_SUITE("session/terms")
{
    TEST_CASE("what can change, and what cannot")
    {
        auto live = all;
        live.insert(live.end(), {"session.home_retention", "session.save_on_end"});
        for (const auto& each : session::condition_keys()) {
            CAPTURE(each.key);
            const bool is_live = each.change == session::Change::live;
            CHECK(is_live == (std::ranges::count(live, each.key) == 1));
        }
        CHECK(std::ranges::is_sorted(session::condition_keys(), {}, &session::ConditionKey::key));
    }

    TEST_CASE("a guest is asked for what differs and for nothing else")
    {
        const auto settings = others();
        CHECK(terms_for(settings, {}) == protocol::Terms());
        CHECK(terms_for(settings, {"local.memory", "mount"}) == protocol::Terms());
        const auto terms = terms_for(settings, all);
        CHECK(terms.calls == 5);
        CHECK(terms.jobs == 6);
        CHECK(terms.nofile == 4);
        CHECK(terms.pids == 2);
        CHECK(terms.quota == 7);
        CHECK(terms.idle_end == 8000);
        CHECK(terms.idle_pause == 9);
        CHECK(terms.on_disconnect == protocol::OnDisconnect::now);
        for (const auto& key : all) {
            const auto one = terms_for(settings, {key});
            const bool is_outside = key == "local.cpus" || key == "local.memory";
            CHECK((one == protocol::Terms()) == is_outside);
        }
    }

    TEST_CASE("what was taken on is what the machine has now, and the rest still differs")
    {
        const auto settings = others();
        const Conditions before;
        Conditions made;
        take_on(made, settings, all, {}, {});
        CHECK(made == before);
        for (const auto& key : all) {
            made = before;
            take_on(made, settings, {key}, terms_for(settings, {key}),
                    {.memory = true, .pids = true, .cpus = true});
            auto rest = all;
            std::erase(rest, key);
            CHECK(differences(settings, made) == rest);
        }
        made = before;
        take_on(made, settings, all, terms_for(settings, all),
                {.memory = true, .pids = false, .cpus = true});
        CHECK(differences(settings, made).empty());
        // A limit of the kernel's, which the guest does not take on.
        made = before;
        take_on(made, settings, {"session.quota"}, {}, {.quota = true});
        CHECK(made.limits.quota == 7);
        made = before;
        take_on(made, settings, {}, {}, {.quota = true});
        CHECK(made.limits.quota == before.limits.quota);
    }

    TEST_CASE("how long a profile has a home kept changes without the guest, either way")
    {
        auto settings = others();
        settings.asked.insert("session.home_retention");
        settings.home_retention = 1h;
        Conditions made = settings;
        const std::vector<std::string> keys{"session.home_retention"};
        made.home_retention = 2h; // of all sessions: who clears up says it
        CHECK(session::differences(settings, made).empty());
        settings.own_retention = true;
        CHECK(session::live_differences(settings, made) == keys);
        CHECK(terms_for(settings, keys) == protocol::Terms());
        take_on(made, settings, keys, {}, {});
        CHECK((made.home_retention == 1h && made.own_retention));
        CHECK(session::differences(settings, made).empty());
        settings.own_retention = false; // the server that came last is of no such profile
        CHECK(session::differences(settings, made) == keys);
        take_on(made, settings, keys, {}, {});
        CHECK_FALSE(made.own_retention);
    }

    TEST_CASE("what is to be saved at the end changes without the guest")
    {
        auto settings = others();
        settings.save_on_end = {.patterns = {"new"}, .workspace = "/there"};
        settings.asked.insert("session.save_on_end");
        Conditions made = settings;
        made.save_on_end = {.patterns = {"old"}, .workspace = "/here"};
        const std::vector<std::string> keys{"session.save_on_end"};
        CHECK(session::live_differences(settings, made) == keys);
        CHECK(terms_for(settings, keys) == protocol::Terms());
        take_on(made, settings, keys, {}, {});
        CHECK(made.save_on_end == settings.save_on_end);
    }
}
