#include "sandbox/local/zygote.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "launcher";
/// Of a zygote that has let go of a launcher's socket: what it has to say it has said.
constexpr std::chrono::seconds last_patience{2};
// MFD_EXEC of Linux 6.3, newer than Debian 12's headers.
constexpr unsigned mfd_exec = 0x0010U;

/// A copy in memory that nobody can write to any more. Throws std::system_error.
UniqueFd sealed_copy(const std::string& path)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        throw_errno("open " + path);
    }
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    UniqueFd copy(::memfd_create("berth-launcher", flags | mfd_exec));
    if (!copy && errno == EINVAL) {
        copy.reset(::memfd_create("berth-launcher", flags)); // before Linux 6.3 all are executable
    }
    if (!copy) {
        throw_errno("memfd_create");
    }
    ssize_t count = 0;
    do {
        count = ::sendfile(copy.get(), file.get(), nullptr, std::size_t{1} << 30U);
    } while (count > 0 || (count < 0 && errno == EINTR));
    constexpr int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (count < 0 || ::fcntl(copy.get(), F_ADD_SEALS, seals) != 0) {
        throw_errno("copy " + path);
    }
    return copy;
}

Process spawn(int program, int socket)
{
    SpawnOptions options;
    options.arguments = {"berth-launcher"};
    options.descriptors = {{program, launcher_program_fd}, {socket, zygote_fd}};
    options.new_session = true;
    return Process::spawn("/proc/self/fd/" + std::to_string(launcher_program_fd), options);
}

} // namespace

Zygote::Zygote(std::string program, std::chrono::milliseconds patience)
    : program_(std::move(program)), patience_(patience)
{
}

Zygote::~Zygote()
{
    stop();
}

void Zygote::stop() noexcept
{
    socket_.reset(); // at its end it ends
    told_.clear();
    process_.end();
    process_ = Process();
}

int Zygote::copy()
{
    if (!copy_) {
        try {
            copy_ = sealed_copy(program_);
        } catch (const std::system_error&) {
            // vm.memfd_noexec = 2, or no memory: the installed file serves, an exec slower.
            return -1;
        }
    }
    return copy_.get();
}

/// False where this host does not run what is no file.
bool Zygote::start()
{
    const int program = copy();
    if (program < 0) {
        return false;
    }
    auto [ours, theirs] = make_socket_pair();
    try {
        process_ = spawn(program, theirs.get());
    } catch (const std::system_error& error) {
        const int number = error.code().value();
        if (number == EACCES || number == EPERM) {
            return false; // a policy of the host forbids it
        }
        throw Failure(step, number, "start the launcher's copy in memory");
    }
    socket_ = std::move(ours);
    return true;
}

namespace {

/// A number that somebody sends; nothing at the end of the socket. One who is killed with something
/// unread leaves a reset instead.
std::optional<std::int32_t> receive_number(int socket)
{
    std::int32_t number = 0;
    try {
        if (read_full(socket, &number, sizeof number) == sizeof number) {
            return number;
        }
    } catch (const std::system_error&) {
        return std::nullopt;
    }
    return std::nullopt;
}

} // namespace

/// The pid that the launcher tells, or the zygote's -errno; nothing when the zygote is gone. Throws
/// Failure when nobody answers.
std::optional<int> Zygote::ask(UniqueFd theirs, int control, int wake, const std::string& cgroup)
{
    const char what = cgroup.empty() ? message_fork : message_fork_to_wait;
    if (!send_descriptors(socket_.get(), what + cgroup, {theirs.get(), wake})) {
        return std::nullopt;
    }
    theirs.reset(); // else the end of the launcher's could not be seen
    if (!wait_readable(control, Deadline::after(patience_))) {
        (void)process_.signal(SIGKILL); // someone has stopped it
        stop();
        throw Failure(step, ETIMEDOUT, "wait for the zygote to fork a launcher");
    }
    if (const auto pid = receive_number(control)) {
        return pid;
    }
    // It says at once why there is no launcher. One that was killed before it had told its pid it
    // knows nothing of: it would be waited for without end, under the lock of all that come after.
    if (!wait_readable(socket_.get(), Deadline::after(last_patience))) {
        (void)process_.signal(SIGKILL);
        stop();
        return std::nullopt;
    }
    return receive_number(socket_.get());
}

void Zygote::prepare(const std::string& ahead)
{
    const std::lock_guard lock(mutex_);
    if (!socket_ || ahead == told_) {
        return;
    }
    const UniqueFd file = make_memory_file("berth-ahead", ahead);
    if (send_descriptors(socket_.get(), {&message_prepare, 1}, {file.get()})) {
        told_ = ahead; // else the next launcher finds out that it has gone
    }
}

/// Each try with descriptors of its own: what is meant for one launcher no other must hear.
std::optional<Zygote::Forked> Zygote::try_to_fork(std::optional<int>& answer,
                                                  const std::string& cgroup)
{
    auto [control, theirs] = make_socket_pair();
    UniqueFd wake = make_launcher_wake();
    answer = ask(std::move(theirs), control.get(), wake.get(), cgroup);
    if (!answer || *answer <= 0) {
        return std::nullopt;
    }
    UniqueFd pidfd(sys::pidfd_open(*answer, 0)); // of a child that nobody else waits for
    if (!pidfd) {
        const int error = errno;
        control.reset(); // with which it ends
        while (::waitpid(*answer, nullptr, 0) < 0 && errno == EINTR) {
        }
        throw Failure(step, error, "pidfd_open");
    }
    return Forked{.process = Process(*answer, std::move(pidfd)),
                  .control = std::move(control),
                  .wake = std::move(wake)};
}

std::optional<Zygote::Forked> Zygote::fork_launcher(const std::string& cgroup)
{
    const std::lock_guard lock(mutex_);
    std::optional<int> answer;
    for (int attempt = 0; attempt < 2 && !answer; ++attempt) {
        if (!socket_ && !start()) {
            return std::nullopt;
        }
        if (auto forked = try_to_fork(answer, cgroup)) {
            return forked;
        }
        if (!answer) {
            stop(); // someone has killed it
        }
    }
    if (!answer || *answer == -ENOSYS || *answer == -EPERM || *answer == -EINVAL) {
        return std::nullopt; // a launcher by itself will say why, as where a filter forbids clone3
    }
    throw Failure(step, -*answer, "fork a launcher");
}

UniqueFd make_launcher_wake()
{
    UniqueFd wake(::eventfd(0, EFD_CLOEXEC));
    if (!wake) {
        throw_errno("eventfd");
    }
    return wake;
}

} // namespace berth::local
