// berth-launcher: makes one machine and ends. Started by the server with the descriptors of
// launch_spec.hpp and nothing else; it is never called by hand. A program of its own because the
// server has threads (a child of fork may do next to nothing there) and is large (a fork of it
// costs milliseconds); single-threaded, so that namespaces and v1 cgroups can be joined at all.

#include "sandbox/base/io.hpp"
#include "sandbox/local/launcher/launch.hpp"
#include "sandbox/local/launcher/rlimits.hpp"
#include "sandbox/protocol/wire.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include <sys/stat.h>

int main()
{
    using namespace berth::local;
    ::signal(SIGPIPE, SIG_IGN);
    struct stat status{};
    if (::fstat(launcher_spec_fd, &status) != 0) {
        std::fputs("berth-launcher is started by berth, not by hand\n", stderr);
        return 2;
    }
    try {
        set_resource_limits();
        std::string text(static_cast<std::size_t>(status.st_size), '\0');
        text.resize(berth::read_full(launcher_spec_fd, text.data(), text.size()));
        const auto spec = berth::protocol::decode<LaunchSpec>(text);
        return launch(spec) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fputs(error.what(), stderr);
        return 2;
    }
}
