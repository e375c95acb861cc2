#include "sandbox/direct/guest_process.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/process.hpp"
#include "sandbox/base/process_stat.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/parting_note.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/spec_for_guest.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::direct {
namespace {

constexpr std::chrono::seconds start_time{10};
constexpr std::chrono::seconds end_time{3};

/// In a machine's folder, and gone with it.
constexpr const char* parting_note = "/run/parting";

/// Numbers of the guest's descriptors.
enum : int { config_fd = 3, listen_fd = 4, ready_fd = 5, lifetime_fd = 6, parting_fd = 7 };

protocol::GuestConfig config_for(const sandbox::MachineSpec& spec, const std::string& folder)
{
    auto config = sandbox::config_for_guest(spec);
    config.home = folder + "/home";
    config.writable_roots = {folder + "/tmp"};
    config.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                          {"HOME", config.home},
                          {"USER", config.user},
                          {"LANG", "C.UTF-8"},
                          {"TERM", "dumb"},
                          {"TMPDIR", folder + "/tmp"}};
    for (const auto& [name, value] : spec.environment) {
        config.environment.insert_or_assign(name, value);
    }
    config.spill_directory = folder + "/tmp/.berth";
    config.listen_fd = listen_fd;
    config.ready_fd = ready_fd;
    config.parting_fd = parting_fd;
    config.lifetime_fd = spec.ends_with_server ? lifetime_fd : -1;
    return config;
}

void wait_until_ready(int fd)
{
    char byte = 0;
    if (!wait_readable(fd, Deadline::after(start_time)) || read_full(fd, &byte, 1) != 1 ||
        byte != 'R') {
        throw Error(ErrorCode::sandbox_unavailable, "the guest did not start");
    }
}

std::optional<ProcessStat> status_of(pid_t pid)
{
    try {
        return parse_process_stat(
            pid, read_file_limited(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat", 4096));
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

std::vector<pid_t> all_processes()
{
    std::vector<pid_t> found;
    std::error_code ignored; // a process that ends meanwhile is none of ours
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos) {
            found.push_back(static_cast<pid_t>(std::stol(name)));
        }
    }
    return found;
}

/// What the guest of that folder is called in the table of processes: for who knows nothing else.
std::string name_in_table(const std::string& folder)
{
    return "berth-guest of " + folder;
}

bool is_guest_of(pid_t pid, const std::string& folder)
{
    constexpr std::size_t longest = 64UL * 1024;
    try {
        return read_file_limited(AT_FDCWD, "/proc/" + std::to_string(pid) + "/cmdline", longest)
            .starts_with(name_in_table(folder) + '\0');
    } catch (const std::exception&) {
        return false; // it ends, or is another
    }
}

std::optional<ProcessIdentity> identity_of(pid_t pid)
{
    const auto status = status_of(pid);
    return status ? std::optional(
                        ProcessIdentity{.pid = pid, .started = std::to_string(status->start_time)})
                  : std::nullopt;
}

std::vector<pid_t> descendants(pid_t root)
{
    std::vector<std::pair<pid_t, pid_t>> parents; ///< process, its parent
    for (const pid_t pid : all_processes()) {
        if (const auto status = status_of(pid)) {
            parents.emplace_back(pid, status->parent);
        }
    }
    std::vector<pid_t> found{root};
    for (std::size_t i = 0; i < found.size(); ++i) {
        for (const auto& [pid, parent] : parents) {
            if (parent == found[i]) {
                found.push_back(pid);
            }
        }
    }
    found.erase(found.begin());
    return found;
}

/// No pid namespace ends with this guest: what it runs would go on. It is stopped first, so that
/// nothing new is started, and looked at twice, for what was being forked meanwhile.
void kill_tree(pid_t guest, int process)
{
    sys::pidfd_send_signal(process, SIGSTOP);
    for (int round = 0; round < 2; ++round) {
        for (const pid_t pid : descendants(guest)) {
            ::kill(pid, SIGKILL);
        }
    }
    sys::pidfd_send_signal(process, SIGKILL);
}

} // namespace

std::optional<protocol::Parting> parting_of(const std::string& folder)
{
    return protocol::read_parting_note(AT_FDCWD, folder + parting_note);
}

std::string last_words_of(const std::string& folder)
{
    return protocol::read_last_words(AT_FDCWD, folder + parting_note);
}

StartedGuest start_guest(const std::string& program, const sandbox::MachineSpec& spec,
                         const std::string& folder, const std::string& socket)
{
    const auto listener = listen_unix(socket);
    // Not a file: the token must not be left on the disk.
    const auto config =
        make_memory_file("berth-config", protocol::encode(config_for(spec, folder)));
    const auto note = protocol::make_parting_note(AT_FDCWD, folder + parting_note);
    auto ready = make_pipe();
    auto lifetime = make_pipe();
    SpawnOptions options;
    options.arguments = {name_in_table(folder), "--config-fd", std::to_string(config_fd)};
    options.descriptors = {{2, 2},
                           {config.get(), config_fd},
                           {listener.get(), listen_fd},
                           {ready.write.get(), ready_fd},
                           {lifetime.read.get(), lifetime_fd},
                           {note.get(), parting_fd}};
    options.new_session = true;
    auto process = Process::spawn(program, options);
    ready.write.reset(); // else its end would not be seen when the guest fails
    try {
        wait_until_ready(ready.read.get());
    } catch (...) {
        (void)process.signal(SIGKILL);
        (void)process.wait(Deadline());
        throw;
    }
    StartedGuest started{
        .identity = identity_of(process.pid()).value_or(ProcessIdentity{.pid = process.pid()}),
        .lifetime = {}};
    if (spec.ends_with_server) {
        started.lifetime = std::move(lifetime.write);
    }
    return started;
}

bool has_ended(const ProcessIdentity& identity)
{
    const UniqueFd process(sys::pidfd_open(identity.pid, 0));
    if (!process) {
        return errno == ESRCH;
    }
    const auto status = status_of(identity.pid);
    return wait_readable(process.get(), Deadline::after({})) ||
           (status && std::to_string(status->start_time) != identity.started);
}

void end_guest(const ProcessIdentity& identity)
{
    const UniqueFd process(sys::pidfd_open(identity.pid, 0));
    const auto status = status_of(identity.pid);
    if (!process || !status || std::to_string(status->start_time) != identity.started) {
        return;
    }
    // It takes the polite word from its parent only.
    const bool asked = status->parent == ::getpid() &&
                       sys::pidfd_send_signal(process.get(), SIGTERM) == 0 &&
                       wait_readable(process.get(), Deadline::after(end_time));
    if (!asked) {
        kill_tree(identity.pid, process.get());
        (void)wait_readable(process.get(), Deadline::after(end_time));
    }
    ::waitpid(identity.pid, nullptr, WNOHANG);
}

void end_guests_of(const std::string& folder)
{
    for (const pid_t pid : all_processes()) {
        const auto identity = identity_of(pid); // first: a later one of that number is another
        if (identity && is_guest_of(pid, folder)) {
            end_guest(*identity);
        }
    }
}

} // namespace berth::direct
