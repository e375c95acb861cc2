#include "tests/unit/guest/exec/command_fixture.hpp"

#include "sandbox/guest/exec/process_tree.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::guest::test {
namespace {

std::string cgroup_root()
{
    for (const char* path : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
        if (::access((std::string(path) + "/cgroup.procs").c_str(), W_OK) == 0) {
            return path;
        }
    }
    return {};
}

int next_number()
{
    static int number = 0;
    return ++number;
}

} // namespace

std::vector<Mode> modes()
{
    std::vector<Mode> result{Mode::subreaper};
    if (::geteuid() == 0 && !cgroup_root().empty()) {
        result.push_back(Mode::cgroup);
    }
    return result;
}

std::string name_of(Mode mode)
{
    return mode == Mode::cgroup ? "cgroup" : "subreaper";
}

Guest::Guest(Mode mode, const Configure& configure, ShellProgram shell)
{
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::signal(SIGPIPE, SIG_IGN); // the guest blocks every signal
    const std::string suffix = std::to_string(::getpid()) + "-" + std::to_string(next_number());
    home_ = "/tmp/berth-test-" + suffix;
    std::filesystem::create_directories(home_);
    protocol::GuestConfig config;
    config.home = home_;
    config.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", home_}};
    config.spill_directory = home_ + "/.out/spill";
    if (mode == Mode::cgroup) {
        cgroup_ = cgroup_root() + "/berth-test-" + suffix;
        std::filesystem::create_directory(cgroup_);
        cgroup_fd_.reset(::open(cgroup_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        config.commands_cgroup_fd = cgroup_fd_.get();
    }
    if (configure) {
        configure(config);
    }
    session.emplace(home_);
    commands.emplace(loop, workers, config, *session, OomScore(), std::move(shell));
}

Guest::~Guest()
{
    commands.reset();
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
    if (!cgroup_.empty()) {
        ::rmdir(cgroup_.c_str());
    }
}

protocol::ExecuteRequest Guest::request(const std::string& command, std::uint64_t timeout)
{
    protocol::ExecuteRequest request;
    request.id = "c" + std::to_string(next_number());
    request.command = command;
    request.timeout = timeout;
    request.head_limit = 6000;
    request.tail_limit = 4000;
    return request;
}

std::size_t Guest::start(const protocol::ExecuteRequest& request, const std::string& asker,
                         const std::function<void()>& began)
{
    const std::size_t handle = outcomes_.size();
    outcomes_.emplace_back();
    const auto asked = std::chrono::steady_clock::now();
    commands->start(request,
                    [this, handle, asked](protocol::ExecuteReply reply, std::exception_ptr error) {
                        if (outcomes_.at(handle)) {
                            std::fputs("a command was answered twice\n", stderr);
                            std::abort();
                        }
                        outcomes_.at(handle) =
                            Outcome{std::move(reply), std::move(error),
                                    std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::steady_clock::now() - asked)};
                        loop.stop();
                    },
                    {.asker = asker, .began = began});
    return handle;
}

std::optional<Outcome>& Guest::outcome(std::size_t handle)
{
    return outcomes_.at(handle);
}

Outcome Guest::wait_for(std::size_t handle)
{
    const auto give_up =
        loop.call_at(BootClock::now() + std::chrono::seconds(40), [this] { loop.stop(); });
    const auto deadline = BootClock::now() + std::chrono::seconds(40);
    while (!outcomes_.at(handle) && BootClock::now() < deadline) {
        loop.run();
    }
    loop.cancel(give_up);
    if (!outcomes_.at(handle)) {
        throw std::runtime_error("a command was never answered");
    }
    return *outcomes_.at(handle);
}

Outcome Guest::run(const protocol::ExecuteRequest& request)
{
    return wait_for(start(request));
}

Outcome Guest::run(const std::string& command, std::uint64_t timeout)
{
    return run(request(command, timeout));
}

void Guest::spin(std::chrono::milliseconds time)
{
    const auto end = BootClock::now() + time;
    while (BootClock::now() < end) {
        (void)loop.call_at(end, [this] { loop.stop(); });
        loop.run();
    }
}

bool Guest::until(const std::function<bool()>& condition)
{
    const auto end = BootClock::now() + std::chrono::seconds(30);
    while (!condition()) {
        if (BootClock::now() > end) {
            return false;
        }
        spin(std::chrono::milliseconds(5));
    }
    return true;
}

void as_ordinary_user(unsigned uid, const std::function<int()>& play)
{
    // The kernel counts a user's processes on the whole host, those of the same test of another
    // build that runs beside this one too.
    const auto own = uid + 1000 * (1 + static_cast<unsigned>(::getpid()) % 500);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && (::setgid(own) != 0 || ::setuid(own) != 0)) {
            ::_exit(3);
        }
        ::_exit(play());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

std::size_t processes_with(const std::string& text)
{
    const auto all = all_processes();
    return static_cast<std::size_t>(std::ranges::count_if(all, [&](const ProcessStat& process) {
        return process.alive() && command_line(process.pid).find(text) != std::string::npos;
    }));
}

std::string unique_word()
{
    // The shell rounds nothing: "sleep 300.1234501" runs as written.
    return "300." + std::to_string(::getpid()) + std::to_string(1000 + next_number());
}

} // namespace berth::guest::test
