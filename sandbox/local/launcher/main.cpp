// berth-launcher: waits for what is wanted, makes one machine and ends; as a zygote it forks those
// that do. Started by the server with the descriptors of launch_spec.hpp and nothing else; it is
// never called by hand. A program of its
// own because the server has threads (a child of fork may do next to nothing there) and is large (a
// fork of it costs milliseconds); single-threaded, so that namespaces and v1 cgroups can be joined
// at all.

#include "sandbox/guest/heap.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/fresh_stack.hpp"
#include "sandbox/local/launcher/launch.hpp"
#include "sandbox/local/launcher/namespace_keeper.hpp"
#include "sandbox/local/launcher/process_name.hpp"
#include "sandbox/local/launcher/request.hpp"
#include "sandbox/local/launcher/rlimits.hpp"
#include "sandbox/local/launcher/seccomp.hpp"
#include "sandbox/local/launcher/socket.hpp"
#include "sandbox/local/launcher/thread_number.hpp"
#include "sandbox/local/launcher/zygote.hpp"
#include "sandbox/local/processors.hpp"
#include "sandbox/local/runtime_folder.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sys/stat.h>

namespace berth::local {
namespace {

/// Nobody reads its standard error.
void tell(const std::exception& error)
{
    try {
        answer(to_result(error, "launch"));
    } catch (const std::exception&) {
        return; // the server is gone, and with it whoever would hear
    }
}

bool is_socket(int fd)
{
    struct stat status{};
    return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

std::unique_ptr<ListenSocket> socket_ahead(const std::string& path) noexcept
{
    try {
        return std::make_unique<ListenSocket>(path);
    } catch (const std::exception&) {
        return nullptr; // the launch says what is wrong
    }
}

/// One machine, if one is wanted.
int launch(FilterProgram& filter, const ProcessName& process_name, Supplies supplies)
{
    MadeAhead ahead{.root = std::move(supplies.root), .namespaces = {}, .socket = nullptr};
    // Without its number a launcher becomes no guest, and what is made ahead is for one that does.
    if (ahead.root && supplies.waits && thread_number() != nullptr && !is_wanted_within(quiet)) {
        auto& expected = supplies.expected;
        ahead.namespaces = NamespaceKeeper::start(*ahead.root, expected, filter, process_name);
        if (ahead.namespaces) {
            ahead.socket = socket_ahead(socket_in(expected.sockets, expected.cgroup.name));
        } else if (!ahead.root->clone_ahead()) { // the other went with who failed
            ahead.root.reset();
        }
    }
    auto request = receive_request(ahead);
    if (!request) {
        return 0;
    }
    if (ahead.namespaces) {
        // Without that of the server, which has enough to do: who wakes is put beside the one that
        // runs as readily as elsewhere.
        share_processors(ahead.namespaces->guest());
    }
    Launch launch{.spec = request->spec,
                  .file = std::move(request->file),
                  .lock = std::move(request->lock),
                  .proxy = std::move(request->proxy),
                  .lifetime = std::move(request->lifetime),
                  .filter = filter,
                  .process_name = process_name,
                  .ahead = std::move(ahead)};
    return make_machine(launch) ? 0 : 1;
}

int run(char* name)
{
    ::signal(SIGPIPE, SIG_IGN);
    const ProcessName process_name(name);
    process_name.show("berth-launcher"); // after an exec by descriptor it would be a number
    const bool as_zygote = is_socket(zygote_fd);
    if (!as_zygote && !is_socket(launcher_control_fd)) {
        std::fputs("berth-launcher is started by berth, not by hand\n", stderr);
        return 2;
    }
    try {
        guest::free_at_once(); // what this leaves free its guest shall have in one piece
        ::umask(022);          // the server's own must not decide what others may read inside
        set_resource_limits();
        give_up_oom_protection();
        // Before the request, while nobody waits; and what a zygote has made is not made again.
        FilterProgram filter = compile_filter(/*forbid_namespaces=*/false);
        Supplies supplies;
        if (as_zygote) {
            supplies = fork_launchers(process_name);
        }
        return launch(filter, process_name, std::move(supplies));
    } catch (const std::exception& error) {
        tell(error);
        return 2;
    }
}

} // namespace
} // namespace berth::local

int main(int /*argc*/, char** argv)
{
    berth::local::note_stack_top(__builtin_frame_address(0));
    return berth::local::run(argv[0]);
}
