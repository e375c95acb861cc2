// A guest for tests of the launcher alone: answers each connection with the output of the script
// that it sends, run by bash as a command of the session would be. Follows guest_config.hpp.

#include "sandbox/base/io.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/wire.hpp"

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using berth::protocol::GuestConfig;

GuestConfig read_config(int fd)
{
    std::string text(1UL << 16U, '\0');
    text.resize(berth::read_full(fd, text.data(), text.size()));
    ::close(fd);
    return berth::protocol::decode<GuestConfig>(text);
}

std::string read_script(int connection)
{
    std::string script(1UL << 16U, '\0');
    script.resize(berth::read_full(connection, script.data(), script.size()));
    return script;
}

/// Where the limits are those of cgroup v2.
void join_v2(int commands_cgroup)
{
    const std::string name = "script-" + std::to_string(::getpid());
    (void)!::mkdirat(commands_cgroup, name.c_str(), 0755);
    const int procs =
        ::openat(commands_cgroup, (name + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
    (void)!::write(procs, "0", 1);
}

[[noreturn]] void run(const GuestConfig& config, int connection, std::string script)
{
    ::setsid();
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int tasks : config.v1_tasks_fds) {
        (void)!::write(tasks, "0", 1);
    }
    if (config.commands_cgroup_fd >= 0) {
        join_v2(config.commands_cgroup_fd);
    }
    ::dup2(connection, 1);
    ::dup2(connection, 2);
    std::vector<std::string> entries;
    std::vector<char*> environment;
    for (const auto& [name, value] : config.environment) {
        entries.push_back(name + "=" + value);
    }
    for (auto& entry : entries) {
        environment.push_back(entry.data());
    }
    environment.push_back(nullptr);
    (void)!::chdir(config.home.c_str());
    std::string words[] = {"bash", "--norc", "--noprofile", "-c", std::move(script)};
    char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                               words[3].data(), words[4].data(), nullptr};
    ::execve("/bin/bash", arguments, environment.data());
    ::_exit(127);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 3) {
        return 2;
    }
    const GuestConfig config = read_config(std::atoi(argv[2]));
    ::prctl(PR_SET_DUMPABLE, 0);
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    for (int fd = 3; fd < 256; ++fd) {
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    berth::write_full(config.ready_fd, "R");
    ::close(config.ready_fd);
    for (;;) {
        pollfd waiting[2] = {{config.listen_fd, POLLIN, 0}, {config.lifetime_fd, POLLIN, 0}};
        ::poll(waiting, 2, 100);
        if (config.lifetime_fd >= 0 && waiting[1].revents != 0) {
            return 0;
        }
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        const int connection = ::accept4(config.listen_fd, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) {
            continue;
        }
        const std::string script = read_script(connection);
        if (!script.empty() && ::fork() == 0) {
            run(config, connection, script);
        }
        ::close(connection);
    }
}
