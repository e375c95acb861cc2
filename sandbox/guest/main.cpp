// The program inside a sandbox whose machine is not made by berth-launcher, which has the guest in
// it. `--config-fd N`: it is given its config on a descriptor and serves the host on the socket
// that the config names, until it is told to end. The others are for a microVM
// (docs/adr/0016-e2b-channel.md).

#include "sandbox/base/error.hpp"
#include "sandbox/guest/guest.hpp"
#include "sandbox/guest/microvm/connector.hpp"
#include "sandbox/guest/microvm/resident.hpp"
#include "sandbox/guest/microvm/way_out.hpp"
#include "sandbox/guest/startup.hpp"
#include "sandbox/protocol/residence.hpp"

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using berth::Error;
using berth::ErrorCode;

int descriptor(std::string_view value)
{
    int fd = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), fd);
    if (error != std::errc() || end != value.data() + value.size() || fd < 0) {
        throw Error(ErrorCode::invalid_argument, "there is no descriptor " + std::string(value));
    }
    return fd;
}

std::optional<std::string_view> variable(const std::string& name)
{
    const char* const value = ::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string_view>(value);
}

/// What it is when it ends: the exit status.
int run(std::string_view what, const std::string& argument)
{
    if (what == "--config-fd") {
        berth::guest::run(berth::guest::read_config(descriptor(argument)));
    }
    if (what == "reside") {
        berth::guest::reside(argument);
        return 0;
    }
    if (what == "evict") {
        berth::guest::vacate(argument);
        return 0;
    }
    if (what == "connect") {
        (void)std::signal(SIGPIPE, SIG_IGN);
        return static_cast<int>(berth::guest::connect_to_resident(argument, {}, variable));
    }
    throw Error(ErrorCode::invalid_argument, "there is no " + std::string(what));
}

/// Beside what makes a machine, so briefly; and for a way that is there it is long.
int look_outside(const std::vector<std::string>& addresses)
{
    constexpr std::chrono::milliseconds time{1500};
    const auto who = berth::guest::who_answers(berth::guest::resolvers(addresses),
                                               berth::guest::nobodys(), time);
    if (who.empty()) {
        return 0;
    }
    std::printf("%s\n", who.c_str());
    return berth::protocol::residence::answered_outside;
}

} // namespace

int main(int argc, char** argv)
{
    const bool outside = argc > 2 && std::string_view(argv[1]) == "outside";
    if (argc != 3 && !outside) {
        std::fprintf(stderr, "usage: berth-guest --config-fd N | reside FOLDER | evict FOLDER | "
                             "connect FOLDER | outside ADDRESS...\n"
                             "berth starts it; it is of no use by hand\n");
        return 1;
    }
    try {
        if (outside) {
            return look_outside({argv + 2, argv + argc});
        }
        return run(argv[1], argv[2]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "berth-guest: %s\n", error.what());
        return 1;
    }
}
