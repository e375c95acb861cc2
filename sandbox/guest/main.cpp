// The program inside a sandbox whose machine is not made by berth-launcher, which has the guest in
// it. It is given its config on a descriptor and serves the host on the socket that the config
// names, until it is told to end.

#include "sandbox/base/error.hpp"
#include "sandbox/guest/guest.hpp"
#include "sandbox/guest/startup.hpp"

#include <charconv>
#include <cstdio>
#include <exception>
#include <string_view>

namespace {

using berth::Error;
using berth::ErrorCode;

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

} // namespace

int main(int argc, char** argv)
{
    try {
        berth::guest::run(berth::guest::read_config(config_descriptor(argc, argv)));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "berth-guest: %s\n", error.what());
        return 1;
    }
}
