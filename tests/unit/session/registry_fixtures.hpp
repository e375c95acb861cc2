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

/// One in which each member differs from its default.
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
    record.token = std::string("secret \0 bytes \xff", 15);
    record.made_with.emplace();
    record.made_with->ttl = std::chrono::seconds(77);
    record.made_with->own_retention = true;
    record.created = std::chrono::system_clock::from_time_t(1'700'000'000);
    record.last_used = std::chrono::system_clock::from_time_t(1'700'000'100);
    record.used = HostTime{boot_id(), std::chrono::seconds(1), std::chrono::seconds(1'700'000'100)};
    record.found_home = true;
    record.ending = true;
    record.epoch = 3;
    record.owner = "pid 1";
    record.place = {.host_id = "id", .host = "here", .state_directory = "/state"};
    record.mark = "a mark";
    record.past = {{"an earlier one", "it was ended on request"}};
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
