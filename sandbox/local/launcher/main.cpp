// berth-launcher: waits for what is wanted, makes one machine and ends. Started by the server with
// the descriptor of launch_spec.hpp and nothing else; it is never called by hand. A program of its
// own because the server has threads (a child of fork may do next to nothing there) and is large (a
// fork of it costs milliseconds); single-threaded, so that namespaces and v1 cgroups can be joined
// at all.

#include "sandbox/local/launcher/launch.hpp"
#include "sandbox/local/launcher/request.hpp"
#include "sandbox/local/launcher/rlimits.hpp"
#include "sandbox/local/launcher/seccomp.hpp"

#include <csignal>
#include <cstdio>
#include <exception>

#include <sys/stat.h>

int main()
{
    using namespace berth::local;
    ::signal(SIGPIPE, SIG_IGN);
    struct stat status{};
    if (::fstat(launcher_control_fd, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        std::fputs("berth-launcher is started by berth, not by hand\n", stderr);
        return 2;
    }
    try {
        set_resource_limits();
        give_up_oom_protection();
        // Before the request, while nobody waits.
        const FilterProgram filter = compile_filter(/*forbid_namespaces=*/false);
        const auto request = receive_request(launcher_control_fd);
        return !request || launch(request->spec, filter, request->lifetime.get()) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fputs(error.what(), stderr);
        return 2;
    }
}
