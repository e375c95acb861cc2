#include "sandbox/base/error.hpp"
#include "server/options/profiles.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace berth;
using namespace berth::server;

namespace {

using Values = std::map<std::string, RawValue>;
using Locks = std::map<std::string, std::string>;

RawValue text(const std::string& value)
{
    return {.items = {value}, .origin = "/c.toml:7"};
}

Profile resolve(const Values& values, const std::string& name)
{
    return Profiles(values).resolve({.items = {name}, .origin = "flag --profile"});
}

std::string refusal(const Values& values, const std::string& name = "default")
{
    try {
        (void)resolve(values, name);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_FALSE(error.hint().empty());
        return error.what();
    }
    return {};
}

} // namespace

TEST_SUITE("server/options/profiles")
{
    TEST_CASE("the default says nothing")
    {
        const auto profile = resolve({}, "default");
        CHECK(profile.name == "default");
        CHECK(profile.values.empty());
        CHECK(profile.most.empty());
        CHECK(profile.locked.empty());
    }

    TEST_CASE("LangBot's have its values, by either spelling")
    {
        struct Case {
            const char* name;
            const char* network;
            const char* cpus;
            const char* memory;
            const char* pids;
            const char* longest;
        };

        for (const auto& each : {Case{"langbot_default", "none", "1", "512MiB", "128", "120s"},
                                 Case{"offline_readonly", "none", "0.5", "256MiB", "64", "60s"},
                                 Case{"network-basic", "host", "1", "512MiB", "128", "120s"},
                                 Case{"network_extended", "host", "2", "1GiB", "256", "300s"}}) {
            CAPTURE(each.name);
            const auto profile = resolve({}, each.name);
            const auto value = [&](const char* key) { return profile.values.at(key).items.at(0); };
            CHECK(value("network") == each.network);
            CHECK(value("local.cpus") == each.cpus);
            CHECK(value("local.memory") == each.memory);
            CHECK(value("local.pids") == each.pids);
            CHECK(value("exec.timeout") == "30s");
            for (const char* key :
                 {"exec.timeout", "exec.max_timeout", "job.timeout", "job.max_timeout"}) {
                CHECK(profile.most.at(key).items.at(0) == each.longest);
                CHECK(profile.most.at(key).origin == "profile " + profile.name);
            }
            CHECK(profile.most.size() == 4);
            CHECK(value("exec.max_timeout") == each.longest);
            CHECK(value("job.max_timeout") == each.longest);
            CHECK(profile.values.at("network").origin == "profile " + profile.name);
        }
        CHECK(resolve({}, "offline-readonly").locked ==
              Locks{{"mount_mode", "offline-readonly"}, {"network", "offline-readonly"}});
        CHECK(resolve({}, "network-basic").locked.empty());
    }

    TEST_CASE("one of the file has settings, locks and maxima")
    {
        const Values values{{"my_ci.network", text("none")},
                            {"my_ci.local.memory", text("4GiB")},
                            {"my_ci.max.exec.max_timeout", text("10min")},
                            {"my_ci.locked", text("network")}};
        const auto profile = resolve(values, "my-ci");
        CHECK(profile.name == "my-ci");
        CHECK(profile.values.at("local.memory").items.at(0) == "4GiB");
        CHECK(profile.values.at("network").origin == "profile my-ci, /c.toml:7");
        CHECK(profile.most.at("exec.max_timeout").items.at(0) == "10min");
        CHECK(profile.locked == Locks{{"network", "my-ci"}});
    }

    TEST_CASE("what a profile says holds before what it extends, and locks add up")
    {
        const Values values{{"near.extends", text("far")},
                            {"near.local.pids", text("10")},
                            {"far.extends", text("offline_readonly")},
                            {"far.local.pids", text("20")},
                            {"far.local.cpus", text("3")},
                            {"far.locked", text("local.cpus")}};
        const auto profile = resolve(values, "near");
        const auto value = [&](const char* key) { return profile.values.at(key).items.at(0); };
        CHECK(profile.name == "near");
        CHECK(value("local.pids") == "10");
        CHECK(value("local.cpus") == "3");
        CHECK(value("local.memory") == "256MiB");
        CHECK(profile.locked == Locks{{"local.cpus", "far"},
                                      {"mount_mode", "offline-readonly"},
                                      {"network", "offline-readonly"}});
    }

    TEST_CASE("mistakes are told, of profiles that nobody uses too")
    {
        CHECK(refusal({}, "oflline-readonly").starts_with("there is no profile"));
        CHECK(refusal({{"a.netwrok", text("none")}}) == "unknown setting \"netwrok\" (/c.toml:7)");
        CHECK(refusal({{"a", text("none")}}) == "profiles.a (/c.toml:7) is no table");
        CHECK(refusal({{"a.principal", text("eve")}}) ==
              "principal (/c.toml:7) is not a profile's to say");
        CHECK(refusal({{"default.network", text("host")}}) ==
              "profiles.default (/c.toml:7): berth has a profile of that name");
        CHECK(refusal({{"network_basic.network", text("host")}}) ==
              "profiles.network-basic (/c.toml:7): berth has a profile of that name");
        CHECK(refusal({{"a.extends", text("nobody")}}) ==
              "there is no profile \"nobody\" (/c.toml:7)");
        CHECK(
            refusal({{"a.extends", text("b")}, {"b.extends", text("a")}}).find("extends itself") !=
            std::string::npos);
        CHECK(refusal({{"a.locked", text("network")}}) ==
              "profile a locks network (/c.toml:7) and does not say what it is");
        CHECK(refusal({{"a.locked", text("netwrok")}}) ==
              "unknown setting \"netwrok\" (/c.toml:7)");
        CHECK(refusal({{"a.max.network", text("none")}}) ==
              "profiles.a.max.network (/c.toml:7): network is no quantity");
    }

    TEST_CASE("what is below profiles is taken out of the file's values")
    {
        Values file{{"network", text("none")}, {"profiles.a.network", text("host")}};
        const auto taken = take_profiles(file);
        CHECK(file.size() == 1);
        CHECK(taken.size() == 1);
        CHECK(taken.contains("a.network"));
    }
}
