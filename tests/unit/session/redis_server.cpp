#include "tests/unit/session/redis_server.hpp"

#include "sandbox/session/redis_scripts.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <utility>

namespace berth::tests {
namespace {

std::string program()
{
    for (const std::string path :
         {"/usr/bin/redis-server", "/usr/local/bin/redis-server", "/bin/redis-server"}) {
        if (std::filesystem::exists(path)) {
            return path;
        }
    }
    return {};
}

} // namespace

RedisServer::RedisServer(std::vector<std::string> more) : more_(std::move(more))
{
    start();
    if (more_.empty() || more_.front() != "--requirepass") {
        grow_old();
    }
}

RedisServer::~RedisServer()
{
    kill();
}

session::RedisAddress RedisServer::address() const
{
    session::RedisAddress address;
    address.socket = directory_ / "redis.sock";
    return address;
}

void RedisServer::kill()
{
    if (process_.valid()) {
        (void)process_.signal(SIGKILL);
        (void)process_.wait(Deadline());
        process_ = {};
    }
}

void RedisServer::start()
{
    const auto path = program();
    REQUIRE_MESSAGE(!path.empty(), "there is no redis-server: install Debian's package");
    SpawnOptions options;
    options.arguments = {"redis-server",    "--port",         "0",
                         "--unixsocket",    address().socket, "--dir",
                         directory_.path(), "--save",         ""};
    options.arguments.insert(options.arguments.end(), more_.begin(), more_.end());
    options.environment = {"LANG=C.UTF-8"};
    process_ = Process::spawn(path, options);
    REQUIRE(becomes_true([&] {
        try {
            session::RedisConnection connection(address(), {});
            return !connection.command({"PING"}).text.starts_with("LOADING");
        } catch (const session::RedisBroken&) {
            return false;
        }
    }));
}

session::RedisReply RedisServer::say(const std::vector<std::string>& words) const
{
    session::RedisConnection connection(address(), {});
    auto reply = connection.command(words);
    REQUIRE_MESSAGE(reply.kind != session::RedisReply::Kind::error, reply.text);
    return reply;
}

void RedisServer::grow_old() const
{
    constexpr std::string_view name = "run_id:";
    const auto information = say({"INFO", "server"}).text;
    const auto begin = information.find(name) + name.size();
    const auto run = information.substr(begin, information.find_first_of("\r\n", begin) - begin);
    (void)say({"SET", session::redis_keys::run, run});
    (void)say({"SET", session::redis_keys::generation, "of a test"});
}

} // namespace berth::tests
