// The program inside every sandbox. It is given its config on a descriptor and serves the host on
// the socket that the config names, until it is told to end.

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/guest/commands.hpp"
#include "sandbox/guest/dispatch.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/exec/oom_score.hpp"
#include "sandbox/guest/lifetime.hpp"
#include "sandbox/guest/server.hpp"
#include "sandbox/guest/startup.hpp"
#include "sandbox/guest/workers.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace berth::guest {
namespace {

int config_descriptor(int argc, char** argv)
{
    const std::string_view value = argc == 3 ? argv[2] : "";
    int fd = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), fd);
    if (argc != 3 || std::string_view(argv[1]) != "--config-fd" || error != std::errc() ||
        end != value.data() + value.size() || fd < 0) {
        throw Error(ErrorCode::invalid_argument, "usage: berth-guest --config-fd N",
                    "berth starts it; it is of no use by hand");
    }
    return fd;
}

/// The token leaves the config: handlers see that, and have no use for a secret.
Credentials take_credentials(protocol::GuestConfig& config)
{
    Credentials credentials{.token = config.token, .generation = config.generation};
    ::explicit_bzero(config.token.data(), config.token.size());
    config.token.clear();
    return credentials;
}

void tell_ready(int fd)
{
    if (fd >= 0) {
        const UniqueFd ready(fd);
        write_full(ready.get(), "R");
    }
}

[[noreturn]] void serve(protocol::GuestConfig config, OomScore oom_score)
{
    auto credentials = take_credentials(config);
    EventLoop loop;
    SessionState session(config.home);
    Workers workers;
    auto commands = std::make_unique<Commands>(loop, config, session, std::move(oom_score));
    const auto end = [&loop] { loop.stop(); };
    const Server* connections = nullptr;
    const Dispatcher dispatcher({.config = config,
                                 .session = session,
                                 .workers = workers,
                                 .commands = *commands,
                                 .connections = [&] { return connections->connections(); },
                                 .end = end});
    const Server server(
        loop, UniqueFd(config.listen_fd), std::move(credentials),
        [&](const auto& call, const auto& request) { dispatcher.begin(call, request); });
    connections = &server;
    const auto in_use = [&] {
        return server.connections() > 0 || commands->running() > 0 || !commands->jobs().empty();
    };
    const auto idle_end = std::chrono::milliseconds(static_cast<std::int64_t>(config.idle_end));
    const Lifetime lifetime(
        loop, {.lifetime_fd = config.lifetime_fd, .idle_end = idle_end, .in_use = in_use}, end);
    tell_ready(config.ready_fd);
    loop.run();
    commands.reset();
    // The rest is not taken apart: a worker on a hung mount would hold up the end for ever.
    ::_exit(0);
}

} // namespace
} // namespace berth::guest

int main(int argc, char** argv)
{
    try {
        auto config = berth::guest::read_config(berth::guest::config_descriptor(argc, argv));
        berth::guest::keep_only_descriptors_of(config);
        auto oom_score = berth::guest::OomScore::of_this_process();
        berth::guest::confine_process();
        berth::guest::make_directories(config);
        berth::guest::serve(std::move(config), std::move(oom_score));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "berth-guest: %s\n", error.what());
        return 1;
    }
}
