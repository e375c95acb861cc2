#include "sandbox/base/process.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/syscalls.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings)
{
    std::vector<char*> result;
    result.reserve(strings.size() + 1);
    for (const auto& string : strings) {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): posix_spawn takes char* const[]
        result.push_back(const_cast<char*>(string.c_str()));
    }
    result.push_back(nullptr);
    return result;
}

/// The file actions of one spawn: first every source is copied out of the way of the targets, then
/// onto its target, then the rest is closed.
class FileActions {
  public:
    explicit FileActions(const SpawnOptions& options)
    {
        ::posix_spawn_file_actions_init(&actions_);
        int highest = 2;
        for (const auto& [source, target] : options.descriptors) {
            highest = std::max({highest, source, target});
        }
        int parking = highest + 1;
        for (const auto& [source, target] : options.descriptors) {
            ::posix_spawn_file_actions_adddup2(&actions_, source, parking++);
        }
        for (int fd = 0; fd <= 2; ++fd) {
            ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0);
        }
        parking = highest + 1;
        int last = 2;
        for (const auto& [source, target] : options.descriptors) {
            ::posix_spawn_file_actions_adddup2(&actions_, parking++, target);
            last = std::max(last, target);
        }
        close_between(options, last);
        ::posix_spawn_file_actions_addclosefrom_np(&actions_, last + 1);
    }

    ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;

    [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

  private:
    /// What is open there was inherited, by this process, without close-on-exec.
    void close_between(const SpawnOptions& options, int last)
    {
        for (int fd = 3; fd < last; ++fd) {
            if (std::none_of(options.descriptors.begin(), options.descriptors.end(),
                             [fd](const auto& each) { return each.second == fd; })) {
                ::posix_spawn_file_actions_addclose(&actions_, fd); // of none no error
            }
        }
    }

    posix_spawn_file_actions_t actions_{};
};

class Attributes {
  public:
    explicit Attributes(bool new_session)
    {
        ::posix_spawnattr_init(&attributes_);
        sigset_t set;
        sigemptyset(&set);
        ::posix_spawnattr_setsigmask(&attributes_, &set);
        sigfillset(&set);
        ::posix_spawnattr_setsigdefault(&attributes_, &set);
        int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
        if (new_session) {
            flags |= POSIX_SPAWN_SETSID;
        }
        ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
    }

    ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }

    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;

    [[nodiscard]] const posix_spawnattr_t* get() const noexcept { return &attributes_; }

  private:
    posix_spawnattr_t attributes_{};
};

} // namespace

Process Process::spawn(const std::string& program, const SpawnOptions& options)
{
    const FileActions actions(options);
    const Attributes attributes(options.new_session);
    const auto argv = pointers(options.arguments);
    const auto envp = pointers(options.environment);
    pid_t pid = -1;
    const int error = ::posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(),
                                    argv.data(), envp.data());
    if (error != 0) {
        throw std::system_error(error, std::generic_category(), "start " + program);
    }
    UniqueFd pidfd(sys::pidfd_open(pid, 0));
    if (!pidfd) {
        const int failed = errno;
        // Not reaped yet, so the pid is still this child's.
        ::kill(pid, SIGKILL);
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
        throw std::system_error(failed, std::generic_category(), "pidfd_open");
    }
    return {pid, std::move(pidfd)};
}

bool Process::signal(int number) const noexcept
{
    return pidfd_ && sys::pidfd_send_signal(pidfd_.get(), number) == 0;
}

void Process::end() noexcept
{
    constexpr std::chrono::seconds patience{5};
    try {
        if (!wait(Deadline::after(patience))) {
            (void)signal(SIGKILL);
            (void)wait(Deadline::after(patience));
        }
    } catch (const std::exception&) {
        return; // it ends by itself; a zombie is no reason to fail
    }
}

std::optional<int> Process::wait(const Deadline& deadline)
{
    if (!valid()) {
        return std::nullopt; // poll(2) would wait for ever
    }
    for (;;) {
        if (!wait_readable(pidfd_.get(), deadline)) {
            return std::nullopt;
        }
        int status = 0;
        if (::waitpid(pid_, &status, 0) == pid_) {
            pid_ = -1;
            return status;
        }
        if (errno != EINTR) {
            throw_errno("waitpid");
        }
    }
}

} // namespace berth
