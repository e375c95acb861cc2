#include "sandbox/guest/exec/spawn.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/signals_held.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/exec/command_text.hpp"
#include "sandbox/guest/exec/setid_filter.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace berth::guest {
namespace {

/// MAX_ARG_STRLEN is 128 KiB for one argument; longer commands go by descriptor.
constexpr std::size_t max_argument = 100UL * 1000;
/// It waits in the guest's memory until the command reads.
constexpr std::size_t longest_first_input = 64UL * 1024;
/// The shell has 0 to 3 for itself, so nothing that it gets may sit there before.
constexpr int lowest_fd = 4;

bool has_nul(const std::string& text)
{
    return text.find('\0') != std::string::npos;
}

UniqueFd raise_fd(UniqueFd fd)
{
    if (fd.get() >= lowest_fd) {
        return fd;
    }
    UniqueFd raised(::fcntl(fd.get(), F_DUPFD_CLOEXEC, lowest_fd));
    if (!raised) {
        throw_errno("dup");
    }
    return raised;
}

/// Only the guest's end does not block: a command must meet an ordinary pipe.
Pipe command_pipe()
{
    Pipe pipe = make_pipe();
    if (::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0) {
        throw_errno("fcntl pipe");
    }
    pipe.write = raise_fd(std::move(pipe.write));
    return pipe;
}

/// The other way round.
Pipe input_pipe()
{
    Pipe pipe = make_pipe();
    if (::fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK) != 0) {
        throw_errno("fcntl pipe");
    }
    pipe.read = raise_fd(std::move(pipe.read));
    return pipe;
}

UniqueFd make_memfd(const char* name)
{
    UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd) {
        throw_errno("memfd_create");
    }
    return raise_fd(std::move(fd));
}

UniqueFd open_null()
{
    UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd) {
        throw_errno("open /dev/null");
    }
    return raise_fd(std::move(fd));
}

std::vector<std::string> arguments(const ShellProgram& shell, const std::string& command,
                                   bool by_descriptor)
{
    std::vector<std::string> result =
        shell.is_bash ? std::vector<std::string>{"bash", "--norc", "--noprofile", "-c"}
                      : std::vector<std::string>{"sh", "-c"};
    if (!by_descriptor) {
        result.push_back(command_text(command));
    } else if (shell.is_bash) {
        // The text is expanded first and 3 closed then: no command of it sees the descriptor.
        result.emplace_back("eval \"$(</proc/self/fd/3)\" 3<&-\n\n");
    } else {
        result.emplace_back("eval \"$(cat <&3)\" 3<&-\n\n");
    }
    return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings)
{
    std::vector<char*> result;
    result.reserve(strings.size() + 1);
    for (auto& string : strings) {
        result.push_back(string.data());
    }
    result.push_back(nullptr);
    return result;
}

/// What PWD says of a directory: without dots and doubled slashes. Nothing where there is a "..",
/// which only the kernel can follow: bash then asks it.
std::optional<std::string> shown_directory(std::string_view path)
{
    std::string shown;
    while (!path.empty()) {
        const auto name = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(name.size() + 1, path.size()));
        if (name == "..") {
            return std::nullopt;
        }
        if (!name.empty() && name != ".") {
            shown.append(1, '/').append(name);
        }
    }
    return shown.empty() ? "/" : shown;
}

std::vector<std::string> environment(const SpawnOptions& options)
{
    auto variables = options.environment.variables();
    for (const auto& [name, value] : options.request.environment) {
        variables.insert_or_assign(name, value);
    }
    variables.erase("PWD");
    variables.erase("OLDPWD");
    std::vector<std::string> result;
    result.reserve(variables.size() + 1);
    for (const auto& [name, value] : variables) {
        std::string& entry = result.emplace_back(name);
        entry += '=';
        entry += value;
    }
    if (const auto shown = shown_directory(options.workdir)) {
        result.push_back("PWD=" + *shown);
    }
    return result;
}

pid_t clone_shim(const ShimPlan& plan, int cgroup_fd)
{
    clone_args args{};
    args.exit_signal = SIGCHLD;
    if (cgroup_fd >= 0) {
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = static_cast<__u64>(cgroup_fd);
    }
    // No handler of the guest may run in the child before its mask is set.
    std::optional<SignalsHeld> held(std::in_place);
    pid_t pid = sys::clone3(args);
    if (pid < 0 && errno == ENOSYS && cgroup_fd < 0) {
        pid = sys::clone_as_fork(); // under a filter that looks at flags (launcher/seccomp.cpp)
    }
    if (pid == 0) {
        run_shim(plan);
    }
    const int error = errno;
    held.reset();
    errno = error;
    if (pid < 0) {
        throw_errno("clone3");
    }
    return pid;
}

} // namespace

ShellProgram ShellProgram::find()
{
    for (const char* path : {"/bin/bash", "/usr/bin/bash"}) {
        if (::access(path, X_OK) == 0) {
            return {path, true};
        }
    }
    return {"/bin/sh", false};
}

void validate(const protocol::ExecuteRequest& request)
{
    if (request.id.empty() || request.id.size() > 64 ||
        !std::ranges::all_of(request.id, [](unsigned char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
        })) {
        // It names a cgroup: "../x" would be made elsewhere.
        throw Error(ErrorCode::invalid_argument,
                    "the id of a command must be 1 to 64 characters "
                    "of 0-9 and a-z",
                    "The server gives each command one.");
    }
    if (request.command.find_first_not_of(" \t\r\n") == std::string::npos) {
        throw Error(ErrorCode::empty_command, "the command is empty", "Give a shell command.");
    }
    if (has_nul(request.command)) {
        throw Error(ErrorCode::invalid_argument, "the command contains a NUL byte",
                    "A shell cannot take one; use printf '\\0' inside the command.");
    }
    if (request.timeout == 0) {
        throw Error(ErrorCode::invalid_argument, "the timeout is 0", "Give at least 1 ms.");
    }
    if (request.stdin_open && request.input && request.input->size() > longest_first_input) {
        throw Error(ErrorCode::invalid_argument,
                    "stdin has " + std::to_string(request.input->size()) +
                        " bytes, and beside stdin_open at most " +
                        std::to_string(longest_first_input) + " can be given",
                    "Send the rest with bash_input, or put it into a file.");
    }
    if (has_nul(request.workdir) || request.workdir.size() >= max_cwd) {
        throw Error(ErrorCode::invalid_path,
                    "the workdir contains a NUL byte or is longer than 4095 bytes",
                    "Give a shorter one, and cd further inside the command.");
    }
    for (const auto& [name, value] : request.environment) {
        if (name.empty() || name.find('=') != std::string::npos || has_nul(name)) {
            throw Error(ErrorCode::invalid_argument,
                        "\"" + visible_beginning(name, 100) +
                            "\" cannot name an environment variable",
                        "A name is not empty and has no '=' and no NUL byte in it.");
        }
        if (has_nul(value)) {
            throw Error(ErrorCode::invalid_argument,
                        "the value of the environment variable " + visible_beginning(name, 100) +
                            " contains a NUL byte",
                        "It would end there. Write the bytes to a file, or pass them as stdin.");
        }
    }
}

std::string absolute_workdir(const protocol::ExecuteRequest& request,
                             const std::string& session_cwd, const std::string& home)
{
    const std::string& workdir = request.workdir;
    if (workdir.empty()) {
        return session_cwd;
    }
    if (workdir == "~" || workdir.starts_with("~/")) {
        return home + workdir.substr(1);
    }
    if (workdir.front() == '/') {
        return workdir;
    }
    return session_cwd + (session_cwd.ends_with('/') ? "" : "/") + workdir;
}

CommandPipes::CommandPipes(bool with_input)
    : report(command_pipe()), output(command_pipe()), error(command_pipe()),
      input(with_input ? input_pipe() : Pipe())
{
}

pid_t spawn(const SpawnOptions& options, const CommandPipes& pipes)
{
    const auto& request = options.request;
    const bool by_descriptor = request.command.size() > max_argument;
    auto argument_strings = arguments(options.shell, request.command, by_descriptor);
    auto environment_strings = environment(options);
    const auto argv = pointers(argument_strings);
    auto envp = pointers(environment_strings);

    const bool by_pipe = pipes.input.read.valid(); // the guest writes it
    const bool has_input = !by_pipe && request.input && !request.input->empty();
    const UniqueFd input = by_pipe ? UniqueFd() : has_input ? make_memfd("stdin") : open_null();
    const UniqueFd script = by_descriptor ? make_memfd("command") : UniqueFd();
    std::vector<int> v1_tasks(options.config.v1_tasks_fds.begin(),
                              options.config.v1_tasks_fds.end());

    ShimPlan plan;
    plan.program = options.shell.path.c_str();
    plan.arguments = argv.data();
    plan.environment = envp.data();
    plan.workdir = options.workdir.c_str();
    plan.report = pipes.report.write.get();
    plan.input = by_pipe ? pipes.input.read.get() : input.get();
    plan.output = pipes.output.write.get();
    plan.error = pipes.error.write.get();
    plan.script = script.get();
    plan.input_text = has_input ? std::string_view(*request.input) : std::string_view();
    plan.script_text = by_descriptor ? std::string_view(request.command) : std::string_view();
    plan.v1_tasks = v1_tasks;
    plan.limit_nofile = options.config.limit_nofile;
    plan.limit_nproc = options.config.limit_nproc;
    plan.limit_fsize = options.config.limit_fsize;
    plan.soft_limit_fsize = options.file_limit;
    plan.filter = options.config.refuse_setid ? &setid_filter() : nullptr;
    plan.run_as = options.config.run_as ? &*options.config.run_as : nullptr;

    return clone_shim(plan, options.cgroup_fd);
}

} // namespace berth::guest
