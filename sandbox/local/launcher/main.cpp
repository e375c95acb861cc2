// berth-launcher: waits for what is wanted, makes one machine and ends. Started by the server with
// the descriptor of launch_spec.hpp and nothing else; it is never called by hand. A program of its
// own because the server has threads (a child of fork may do next to nothing there) and is large (a
// fork of it costs milliseconds); single-threaded, so that namespaces and v1 cgroups can be joined
// at all.

#include "sandbox/local/launcher/launch.hpp"
#include "sandbox/local/launcher/prepared_root.hpp"
#include "sandbox/local/launcher/process_name.hpp"
#include "sandbox/local/launcher/request.hpp"
#include "sandbox/local/launcher/rlimits.hpp"
#include "sandbox/local/launcher/seccomp.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include <sched.h>
#include <sys/stat.h>

namespace {

/// Those that this process may run on.
class Processors {
  public:
    Processors() noexcept : known_(::sched_getaffinity(0, sizeof set_, &set_) == 0) {}

    void allow_all() const noexcept
    {
        if (known_) {
            (void)::sched_setaffinity(0, sizeof set_, &set_);
        }
    }

  private:
    cpu_set_t set_{};
    bool known_;
};

} // namespace

int main(int /*argc*/, char** argv)
{
    using namespace berth::local;
    ::signal(SIGPIPE, SIG_IGN);
    const ProcessName process_name(argv[0]);
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
        std::optional<PreparedRoot> root;
        const Processors processors;
        auto request = receive_request();
        while (request && !request->spec) {
            root = PreparedRoot::make(request->base);
            request = receive_request();
        }
        if (!request) {
            return 0;
        }
        processors.allow_all(); // the server has kept it off its own
        Launch launch{.spec = *request->spec,
                      .lifetime = std::move(request->lifetime),
                      .filter = filter,
                      .process_name = process_name,
                      .prepared_root = std::move(root)};
        return make_machine(launch) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fputs(error.what(), stderr);
        return 2;
    }
}
