// Profiles among the other layers of the options.

#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

using namespace berth;
using namespace berth::server;
using berth::server::tests::Bench;
using berth::server::tests::has;
using berth::server::tests::origin;

TEST_CASE("a profile is between the file and what is said")
{
    Bench bench;
    bench.file("profile = \"ci\"\n[local]\npids = 100\ncpus = 8\n[profiles.ci]\n"
               "local = { pids = 200, memory = \"1GiB\" }\nenv = [\"A=1,2\", \"B=\"]\n");
    bench.given.values["local.memory"] = {.items = {"2GiB"}, .origin = "flag --local-memory"};
    const auto options = bench.make();
    CHECK(options.profile == "ci");
    CHECK(options.sessions.limits.pids == 200);
    CHECK(options.sessions.limits.cpus == 8);
    CHECK(options.sessions.limits.memory == 2ULL << 30U);
    CHECK(options.tools.command_variables() ==
          std::map<std::string, std::string>{{"A", "1,2"}, {"B", ""}});
    CHECK(origin(options, "local.pids").starts_with("200 from profile ci, "));
    CHECK(options.sessions.asked.contains("local.pids"));
    bench.variables["BERTH_PROFILE"] = "langbot_default";
    CHECK(bench.make().profile == "langbot-default");
    CHECK(bench.make().sessions.limits.pids == 128);
    CHECK(origin(bench.make(), "profile") == "langbot-default from environment BERTH_PROFILE");
}

TEST_CASE("the host's network is had by whoever says so, not by the name of a profile of berth's")
{
    Bench bench;
    bench.given.values["profile"] = {.items = {"network_basic"}, .origin = "flag --profile"};
    CHECK(has(bench.refusal(), "profile network-basic wants a network, and that would be the "
                               "host's own"));
    CHECK(has(bench.refusal(), "--network host"));
    bench.given.only_looks = true;
    CHECK(bench.refusal().empty());
    bench.given.only_looks = false;
    bench.given.values["network"] = {.items = {"host"}, .origin = "flag --network"};
    CHECK(bench.make().sessions.network == sandbox::Network::host);
    bench.given.values["network"].items = {"none"};
    CHECK(bench.make().sessions.network == sandbox::Network::none);
    bench.given.values.erase("network");
    bench.given.values["profile"].items = {"ours"};
    bench.file("[profiles.ours]\nextends = \"network-basic\"\n");
    CHECK(has(bench.refusal(), "profile network-basic wants a network"));
    bench.file("[profiles.ours]\nextends = \"network-basic\"\nnetwork = \"host\"\n");
    CHECK(bench.make().sessions.network == sandbox::Network::host);
}

TEST_CASE("a default that gives way to a maximum is shown as what is in force")
{
    Bench bench;
    bench.variables["BERTH_EXEC_MAX_TIMEOUT"] = "60s";
    CHECK(origin(bench.make(), "exec.timeout") == "1 min from default, at most exec.max_timeout");
    bench.variables["BERTH_EXEC_TIMEOUT"] = "30s";
    CHECK(origin(bench.make(), "exec.timeout") == "30 s from environment BERTH_EXEC_TIMEOUT");
    bench.variables["BERTH_JOB_MAX_TIMEOUT"] = "30s";
    CHECK(has(origin(bench.make(), "job.timeout"), "30 s from default"));
}

TEST_CASE("what a profile locks nobody changes")
{
    Bench bench;
    bench.given.values["profile"] = {.items = {"offline-readonly"}, .origin = "flag --profile"};
    bench.variables["BERTH_NETWORK"] = "none"; // says the same
    CHECK(bench.make().sessions.network == sandbox::Network::none);
    bench.variables["BERTH_NETWORK"] = "host";
    CHECK(bench.refusal() == "network = \"host\" (environment BERTH_NETWORK) is not allowed\n"
                             "Allowed: \"none\", which profile offline-readonly has locked.");
    bench.variables.clear();
    bench.variables["HOME"] = bench.directory;
    bench.file("network = \"host\"\n"); // what the profile is there to be stricter than
    CHECK(bench.make().sessions.network == sandbox::Network::none);
    bench.given.values["mount"] = {.items = {bench.directory + ":/mnt/x:rw"},
                                   .origin = "flag --mount"};
    CHECK(has(bench.refusal(), ":rw\" (flag --mount) is writable, and mount_mode is \"ro\" "
                               "(profile offline-readonly)"));
    bench.given.values["mount"].items = {bench.directory + "/berth.toml:/mnt/x"};
    CHECK(bench.make().sessions.mounts.size() == 1);
}

TEST_CASE("who locks is named, not who says the value")
{
    Bench bench;
    bench.file("profile = \"d\"\n[profiles.c]\nextends = \"langbot-default\"\n"
               "locked = [\"local.pids\"]\n[profiles.d]\nextends = \"c\"\n");
    bench.variables["BERTH_LOCAL_PIDS"] = "9";
    CHECK(has(bench.refusal(), "Allowed: \"128\", which profile c has locked."));
    bench.variables["BERTH_PROFILE"] = "c";
    CHECK(has(bench.refusal(), "Allowed: \"128\", which profile c has locked."));
}

TEST_CASE("what the file itself locks nobody changes, whatever the profile")
{
    Bench bench;
    bench.file("locked = [\"session.key\", \"network\"]\nnetwork = \"none\"\n"
               "[session]\nkey = \"{principal}/{global}\"\n"
               "[profiles.open]\nnetwork = \"host\"\n");
    CHECK(origin(bench.make(), "session.key").starts_with("{principal}/{global} from "));
    bench.variables["BERTH_SESSION_KEY"] = "{principal}/{global}"; // says the same
    (void)bench.make();
    bench.variables["BERTH_SESSION_KEY"] = "{principal}/{session}";
    CHECK(has(bench.refusal(), "session.key = \"{principal}/{session}\" (environment "
                               "BERTH_SESSION_KEY) is not allowed"));
    CHECK(has(bench.refusal(), "which the settings file has locked ("));
    bench.variables.erase("BERTH_SESSION_KEY");
    bench.given.values["network"] = {.items = {"host"}, .origin = "flag --network"};
    CHECK(has(bench.refusal(), "Allowed: \"none\", which the settings file has locked"));
    bench.variables["BERTH_PROFILE"] = "open"; // the operator's own word
    CHECK(bench.make().sessions.network == sandbox::Network::host);
    bench.given.values["network"].items = {"none"};
    CHECK(has(bench.refusal(), "Allowed: \"host\" of profile open, "));
    CHECK(has(bench.refusal(), ", which the settings file has locked ("));
}

TEST_CASE("a refusal quotes nothing that may be a password or a secret")
{
    const auto refusal_of = [](const std::string& key, const std::string& value,
                               const std::string& locked) {
        Bench bench;
        bench.file(locked);
        bench.given.values[key] = {.items = {value}, .origin = "flag --" + key};
        return bench.refusal();
    };
    const auto check = [](const std::string& refusal, const std::string& key) {
        CAPTURE(refusal);
        CHECK(refusal.starts_with(key + " (flag --" + key + ") is not allowed"));
        CHECK(has(refusal, "berth.toml:"));
        CHECK(has(refusal, "has locked"));
        CHECK_FALSE(has(refusal, "hunter"));
    };
    check(refusal_of("registry", "redis://u:hunter1@h",
                     "registry = \"redis://u:hunter2@h\"\n"
                     "locked = [\"registry\"]\n"),
          "registry");
    for (const std::string key : {"secret", "env", "filter.secret"}) {
        const auto said = key + " = [\"T=env:hunter2\"]\n";
        const auto lock = "locked = [\"" + key + "\"]\n";
        check(refusal_of(key, "T=hunter1", said + lock), key);
        check(refusal_of(key, "T=hunter1", "profile = \"p\"\n[profiles.p]\n" + said + lock), key);
    }
}

TEST_CASE("what the file itself locks no profile of berth's own changes")
{
    Bench bench;
    bench.file("locked = [\"network\", \"local.pids\", \"exec.max_timeout\"]\nnetwork = \"none\"\n"
               "local.pids = 16\nexec.max_timeout = \"30s\"\n"
               "[profiles.mine]\nextends = \"network-basic\"\n"
               "[profiles.open]\nextends = \"network-basic\"\nnetwork = \"host\"\n");
    for (const auto* const name : {"network-basic", "langbot-default", "mine"}) {
        CAPTURE(name);
        bench.variables["BERTH_PROFILE"] = name;
        const auto options = bench.make();
        CHECK(options.sessions.network == sandbox::Network::none);
        CHECK(options.sessions.limits.pids == 16);
        CHECK(options.tools.exec_max_timeout == std::chrono::seconds(30));
        bench.given.values["network"] = {.items = {"host"}, .origin = "flag --network"};
        CHECK(has(bench.refusal(), "Allowed: \"none\", which the settings file has locked"));
        bench.given.values.clear();
        bench.variables["BERTH_LOCAL_PIDS"] = "128";
        CHECK(has(bench.refusal(), "Allowed: \"16\", which the settings file has locked"));
        bench.variables.erase("BERTH_LOCAL_PIDS");
    }
    bench.variables["BERTH_PROFILE"] = "open"; // the operator's own word
    CHECK(bench.make().sessions.network == sandbox::Network::host);
    bench.variables["BERTH_PROFILE"] = "offline-readonly";
    CHECK(bench.make().sessions.network == sandbox::Network::none);
    bench.file("locked = [\"exec.max_timeout\"]\nexec.max_timeout = \"10min\"\n");
    CHECK(bench.make().tools.exec_max_timeout == std::chrono::minutes(10)); // above its maximum
    bench.file("locked = [\"network\"]\nnetwork = \"host\"\n"); // two locks that contradict
    CHECK(has(bench.refusal(), "network = \"none\" (profile offline-readonly) is not allowed"));
    CHECK(has(bench.refusal(), "Allowed: \"host\", which the settings file has locked"));
}

TEST_CASE("a lock is on the value, however it is written")
{
    Bench bench;
    bench.file("locked = [\"session.ttl\", \"sticky_cwd\"]\nsticky_cwd = true\n[session]\nttl = "
               "\"1h\"\n[profiles.c]\nlocked = [\"local.memory\"]\nlocal.memory = \"1GiB\"\n");
    bench.variables = {{"BERTH_SESSION_TTL", "60min"},
                       {"BERTH_STICKY_CWD", "yes"},
                       {"BERTH_PROFILE", "c"},
                       {"BERTH_LOCAL_MEMORY", "1024MiB"}};
    CHECK(bench.make().sessions.ttl == std::chrono::hours(1));
    bench.variables["BERTH_LOCAL_MEMORY"] = "1025MiB";
    CHECK(has(bench.refusal(), "Allowed: \"1GiB\", which profile c has locked."));
    bench.variables["BERTH_SESSION_TTL"] = "61min";
    bench.variables.erase("BERTH_LOCAL_MEMORY");
    CHECK(has(bench.refusal(), "Allowed: \"1h\", which the settings file has locked"));
    bench.variables["BERTH_SESSION_TTL"] = "an hour";
    CHECK(has(bench.refusal(), "Allowed: \"1h\", which the settings file has locked"));
    bench.variables["BERTH_SESSION_TTL"] = "3600";
    bench.variables["BERTH_STICKY_CWD"] = "no";
    CHECK(has(bench.refusal(), "sticky_cwd"));
}

TEST_CASE("a lock without a value, or of nothing, stops the start")
{
    Bench bench;
    bench.file("locked = [\"session.key\"]\n");
    CHECK(has(bench.refusal(), "locks session.key ("));
    bench.file("locked = [\"session.kye\"]\n");
    CHECK(has(bench.refusal(), "Did you mean session.key?"));
}

TEST_CASE("no limit at all is above every maximum")
{
    Bench bench;
    bench.file("profile = \"ci\"\n[profiles.ci.max]\nsession = { quota = \"10MiB\", jobs = 2 }\n");
    CHECK(bench.make().sessions.limits.quota == 10ULL << 20U);
    bench.variables["BERTH_SESSION_QUOTA"] = "0";
    CHECK(bench.make().sessions.limits.quota == 10ULL << 20U);
    CHECK(bench.make().sessions.limits.jobs == 2);
    bench.variables["BERTH_SESSION_JOBS"] = "0";
    CHECK(has(bench.refusal(), "session.jobs"));
    bench.variables.clear();
    bench.file("profile = \"ci\"\nnetwork = \"filtered\"\nfilter.allow = [\"example.com\"]\n"
               "[profiles.ci.max]\n"
               "filter.max_sent = \"1MiB\"\nsession.home_retention = \"2d\"\n");
    bench.variables["BERTH_FILTER_MAX_SENT"] = "0";
    bench.variables["BERTH_SESSION_HOME_RETENTION"] = "0";
    const auto options = bench.make().sessions;
    CHECK(options.filter.max_sent == 1ULL << 20U);
    CHECK(options.home_retention == std::chrono::hours(48));
}

TEST_CASE("what a profile sets a maximum to is no more, whoever asks")
{
    Bench bench;
    bench.file("profile = \"small\"\n[profiles.small.max]\nlocal.memory = \"1GiB\"\n"
               "session.idle_pause = \"1min\"\nexec.timeout = \"10s\"\n");
    bench.given.values["local.memory"] = {.items = {"8GiB"}, .origin = "flag --local-memory"};
    bench.variables["BERTH_SESSION_IDLE_PAUSE"] = "0"; // never
    bench.variables["BERTH_EXEC_TIMEOUT"] = "5s";
    const auto options = bench.make();
    CHECK(options.sessions.limits.memory == 1ULL << 30U);
    CHECK(options.sessions.idle_pause == std::chrono::minutes(1));
    CHECK(options.tools.exec_timeout == std::chrono::seconds(5));
    CHECK(origin(options, "local.memory")
              .starts_with("1 GiB from flag --local-memory, at most what profile small, "));
    CHECK(origin(options, "exec.timeout") == "5 s from environment BERTH_EXEC_TIMEOUT");
    bench.file("profile = \"small\"\n[profiles.small.max]\nlocal.memory = \"1GB\"\n");
    CHECK(has(bench.refusal(), "local.memory = \"1GB\" (the maximum of profile small, "));
}

TEST_CASE("where a maximum is not allowed it is named, not what it cuts")
{
    Bench bench;
    bench.file("profile = \"w\"\n[profiles.w.max]\nexec.timeout = \"1500ms\"\n");
    CHECK(has(bench.refusal(), "exec.timeout = \"1500ms\" (the maximum of profile w, "));
    CHECK(has(bench.refusal(), "Allowed: whole seconds."));
    bench.variables["BERTH_EXEC_TIMEOUT"] = "1100ms";
    CHECK(has(bench.refusal(), "exec.timeout = \"1100ms\" (environment BERTH_EXEC_TIMEOUT)"));
    bench.file("profile = \"w\"\n[profiles.w.max]\nlocal.pids = 64.5\n");
    bench.variables.clear();
    CHECK(has(bench.refusal(), "local.pids = \"64.5\" (the maximum of profile w, "));
}

TEST_CASE("the usual timeout gives way to a profile's maximum of the longest, whoever says it")
{
    Bench bench;
    bench.file("profile = \"small\"\n[profiles.small.max]\nexec.max_timeout = \"60s\"\n");
    CHECK(bench.make().tools.exec_timeout == std::chrono::seconds(60));
    bench.variables["BERTH_EXEC_TIMEOUT"] = "90s";
    CHECK(bench.make().tools.exec_timeout == std::chrono::seconds(60));
    CHECK(origin(bench.make(), "exec.timeout") ==
          "1 min from environment BERTH_EXEC_TIMEOUT, at most exec.max_timeout");
    bench.variables["BERTH_EXEC_MAX_TIMEOUT"] = "60s"; // the same
    CHECK(bench.make().tools.exec_timeout == std::chrono::seconds(60));
    bench.variables.clear();
    bench.file("profile = \"ci\"\n[profiles.ci]\nextends = \"offline-readonly\"\n"
               "[profiles.ci.max]\nexec.max_timeout = \"20s\"\n"); // which says 30 s
    CHECK(bench.make().tools.exec_timeout == std::chrono::seconds(20));
}

TEST_CASE("a usual timeout above the longest that is no maximum is refused, with whose that is")
{
    Bench bench;
    bench.file("profile = \"small\"\n[profiles.small]\nexec.max_timeout = \"60s\"\n");
    CHECK(bench.make().tools.exec_timeout == std::chrono::seconds(60)); // the default's
    bench.variables["BERTH_EXEC_TIMEOUT"] = "90s";
    CHECK(has(bench.refusal(), "Allowed: at most exec.max_timeout, 1 min (profile small"));
}

TEST_CASE("LangBot's profiles cut timeouts to their maximum, whoever asks for more")
{
    Bench bench;
    bench.variables["BERTH_PROFILE"] = "offline-readonly";
    bench.variables["BERTH_EXEC_MAX_TIMEOUT"] = "10min";
    bench.variables["BERTH_JOB_TIMEOUT"] = "5min";
    bench.variables["BERTH_EXEC_TIMEOUT"] = "90s";
    bench.variables["BERTH_LOCAL_PIDS"] = "500"; // as there: a value, and no maximum
    const auto options = bench.make();
    CHECK(options.tools.exec_timeout == std::chrono::seconds(60));
    CHECK(options.tools.exec_max_timeout == std::chrono::seconds(60));
    CHECK(options.tools.job_timeout == std::chrono::seconds(60));
    CHECK(options.tools.job_max_timeout == std::chrono::seconds(60));
    CHECK(options.tools.cuts_exec_timeout);
    CHECK(options.tools.cuts_job_timeout);
    CHECK(options.sessions.limits.pids == 500);
    CHECK(origin(options, "exec.max_timeout") ==
          "1 min from environment BERTH_EXEC_MAX_TIMEOUT, at most what profile offline-readonly "
          "allows");
    // Who extends one has its own maximum where it says one.
    bench.variables["BERTH_PROFILE"] = "longer";
    bench.file("[profiles.longer]\nextends = \"offline-readonly\"\n"
               "[profiles.longer.max]\nexec.max_timeout = \"5min\"\n");
    CHECK(bench.make().tools.exec_max_timeout == std::chrono::minutes(5));
    CHECK(bench.make().tools.job_max_timeout == std::chrono::seconds(60));
    bench.variables.erase("BERTH_PROFILE");
    CHECK_FALSE(bench.make().tools.cuts_exec_timeout);
    CHECK(bench.make().tools.exec_max_timeout == std::chrono::minutes(10));
}

TEST_CASE(
    "how long homes are kept: a profile's of its sessions, what is said beside it of all others")
{
    using namespace std::chrono_literals;
    Bench bench;
    const auto kept = [&] {
        const auto sessions = bench.make().sessions;
        return std::tuple(sessions.home_retention, sessions.own_retention, sessions.told_retention);
    };
    using Told = std::optional<std::chrono::seconds>;
    bench.variables["BERTH_PROFILE"] = "ci";
    bench.file("[profiles.ci]\nsession.home_retention = \"1d\"\n");
    CHECK(kept() == std::tuple(24h, true, Told()));
    CHECK(session::usual_retention(bench.make().sessions) == 7 * 24h);
    bench.file("session.home_retention = \"3d\"\n[profiles.ci]\nsession.home_retention = \"1d\"\n");
    CHECK(kept() == std::tuple(24h, true, Told(72h)));
    CHECK(session::usual_retention(bench.make().sessions) == 72h);
    bench.variables["BERTH_SESSION_HOME_RETENTION"] = "5d"; // which the profile does not forbid
    CHECK(kept() == std::tuple(120h, false, Told(120h)));
    bench.file("[profiles.ci.max]\nsession.home_retention = \"2d\"\n");
    CHECK(kept() == std::tuple(48h, true, Told(120h)));
    bench.variables.erase("BERTH_SESSION_HOME_RETENTION");
    CHECK(kept() == std::tuple(48h, true, Told()));
    bench.file("[profiles.ci]\n");
    CHECK(kept() == std::tuple(7 * 24h, false, Told()));
}

TEST_CASE("0 is no maximum of what it means \"never\" for")
{
    Bench bench;
    bench.file("profile = \"p\"\n[profiles.p.max]\nsession.idle_pause = 0\n");
    bench.variables["BERTH_SESSION_IDLE_PAUSE"] = "1min";
    CHECK(bench.make().sessions.idle_pause == std::chrono::minutes(1));
    bench.file("profile = \"p\"\n[profiles.p.max]\nsession.home_retention = 0\n");
    CHECK(bench.make().sessions.home_retention == std::chrono::hours(7 * 24));
}

TEST_CASE("a profile that mounts nothing writable takes no machine that has such a mount")
{
    Bench bench;
    bench.given.values["profile"] = {.items = {"offline-readonly"}, .origin = "flag --profile"};
    session::Conditions made;
    made.mounts = {{"/srv/a", "/mnt/a", false}, {"/srv/b", "/mnt/b", true}};
    CHECK(session::excess(bench.make().sessions, made) ==
          std::vector<std::string>{"--mount /srv/b:/mnt/b:rw"});
    bench.given.values.erase("profile");
    CHECK(session::excess(bench.make().sessions, made).empty());
}

TEST_CASE("a profile may be nothing but a name")
{
    Bench bench;
    bench.file("profile = \"plain\"\n[profiles.plain]\n[profiles.other.max]\n[local]\n");
    CHECK(bench.make().profile == "plain");
    bench.variables["BERTH_PROFILE"] = "other";
    CHECK(bench.make().profile == "other");
}

TEST_CASE("two spellings of one profile are not mixed")
{
    Bench bench;
    bench.file("[profiles.my_ci]\nnetwork = "
               "\"host\"\n[profiles.my-ci]\n[profiles.my-ci.local]\npids = 9\n");
    const auto refusal = bench.refusal();
    CHECK(has(refusal, "profiles.my_ci"));
    CHECK(has(refusal, "profiles.my-ci"));
    CHECK(has(refusal, "are one name"));
}
