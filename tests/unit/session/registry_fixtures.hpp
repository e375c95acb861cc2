#pragma once

#include "sandbox/session/key.hpp"
#include "sandbox/session/redis_registry.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "sandbox/session/registry.hpp"
#include "tests/unit/session/redis_server.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <chrono>
#include <fstream>
#include <memory>
#include <string>

// The two kinds of registry, for tests that are true of both.

namespace berth::tests {

inline std::string key_of(const std::string& session)
{
    return session::key_hash({"ann", session, {}});
}

/// In which each differs from its default.
inline session::Conditions full_conditions()
{
    session::Conditions made;
    made.template_name = "base";
    made.mounts = {{.source = "/a", .target = "/b", .writable = true}};
    made.network = sandbox::Network::filtered;
    made.outbound = {.allow = {"10.0.0.0/8"}, .deny = {"0.0.0.0/0"}};
    made.filter = {.allow = {"example.org"},
                   .deny = {"a.example.org"},
                   .inner = {"192.168.0.0/16"},
                   .secrets = {"KEY=https://example.org"},
                   .intercept = true,
                   .max_sent = 5};
    made.limits = {.memory = 1,
                   .pids = 2,
                   .cpus = 0.5,
                   .nofile = 3,
                   .calls = 4,
                   .jobs = 5,
                   .spill_stream = 6,
                   .spill_session = 7,
                   .quota = 8};
    made.path_policy = "home";
    made.ttl = std::chrono::seconds(77);
    made.home_retention = std::chrono::seconds(78);
    made.own_retention = true;
    made.idle_pause = std::chrono::milliseconds(79);
    made.on_disconnect = protocol::OnDisconnect::kill;
    made.save_on_end = {.patterns = {"*.txt"}, .workspace = "/w"};
    return made;
}

/// One in which each member that the books keep differs from its default.
inline session::Record full_record()
{
    session::Record record;
    record.id = {"ann", "work \xc3\xa4\n", {}};
    record.unnamed = true;
    record.state = session::State::running;
    record.why = "because";
    record.machine.backend = "fake";
    record.machine.id = "fake-1";
    record.machine.generation = "0123";
    record.machine.data = {{"home", "/h"}, {"pid", "12"}};
    record.machine.home = {{"box", "i1"}};
    record.token = std::string("secret \0 bytes \xff", 15);
    record.made_with = full_conditions();
    record.created = std::chrono::system_clock::from_time_t(1'700'000'000);
    record.last_used = std::chrono::system_clock::from_time_t(1'700'000'100);
    record.used = HostTime{boot_id(), std::chrono::seconds(1), std::chrono::seconds(1'700'000'100)};
    record.found_home = true;
    record.saving = {.due = true, .begun = true, .folder = "saved", .trouble = "no room"};
    record.news = "the sandbox was lost";
    record.untold = {"what ended", "what was stopped"};
    record.past = {{"an earlier one", "it was ended on request"}};
    record.late = {{"one that may come", std::chrono::system_clock::from_time_t(1'700'000'200)}};
    record.ending = true;
    record.purging = true;
    record.kept = session::KeptTime{.seen = *record.used, .counted = std::chrono::seconds(9)};
    record.adopting = key_of("other");
    record.network_unsure = true;
    record.epoch = 3;
    record.owner = "pid 1";
    record.place = {.host_id = "id", .host = "here", .state_directory = "/state"};
    record.mark = "a mark";
    return record;
}

struct FileBooks {
    TemporaryDirectory directory;

    [[nodiscard]] std::unique_ptr<session::Registry> open() const
    {
        return session::make_file_registry(directory / "state");
    }

    void damage(const std::string& key) const
    {
        std::ofstream(directory / ("state/sessions/" + key + "/record.json")) << "{ half";
    }

    void lose_token(const std::string& key) const
    {
        std::filesystem::remove(directory / ("state/sessions/" + key + "/token"));
    }
};

struct RedisBooks {
    RedisServer server;

    [[nodiscard]] std::unique_ptr<session::Registry> open() const
    {
        return session::make_redis_registry(server.address(), "a test", settled());
    }

    void damage(const std::string& key) const
    {
        (void)server.say({"HSET", session::redis_keys::record(key), "record", "{ half"});
    }

    void lose_token(const std::string& key) const
    {
        (void)server.say({"HDEL", session::redis_keys::record(key), "token"});
    }
};

} // namespace berth::tests
