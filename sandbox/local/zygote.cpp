#include "sandbox/local/zygote.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launch_spec.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "launcher";
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
    if (!process_.valid()) {
        return;
    }
    try {
        if (!process_.wait(Deadline::after(std::chrono::seconds(5)))) {
            (void)process_.signal(SIGKILL);
            (void)process_.wait(Deadline());
        }
    } catch (const std::exception&) {
        return; // it ends by itself
    }
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
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        throw_errno("socketpair");
    }
    UniqueFd ours(pair[0]);
    const UniqueFd theirs(pair[1]);
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

/// The launcher's pid, or -errno; nothing when the zygote is gone. Throws Failure when it does not
/// answer.
std::optional<int> Zygote::ask(int control, int wake)
{
    if (!send_descriptors(socket_.get(), {&message_fork, 1}, {control, wake})) {
        return std::nullopt;
    }
    std::int32_t answer = 0;
    if (!wait_readable(socket_.get(), Deadline::after(patience_))) {
        (void)process_.signal(SIGKILL); // someone has stopped it
        stop();
        throw Failure(step, ETIMEDOUT, "wait for the zygote to fork a launcher");
    }
    // It may be killed with the request unread, of which the socket tells as a reset. Itself it
    // answers in one piece.
    const ssize_t size = ::recv(socket_.get(), &answer, sizeof answer, MSG_DONTWAIT);
    return size == sizeof answer ? std::optional<int>(answer) : std::nullopt;
}

void Zygote::prepare(const std::string& base)
{
    const std::lock_guard lock(mutex_);
    if (!socket_ || base == told_) {
        return;
    }
    const UniqueFd file = make_memory_file("berth-base", base);
    if (send_descriptors(socket_.get(), {&message_prepare, 1}, {file.get()})) {
        told_ = base; // else the next launcher finds out that it has gone
    }
}

std::optional<Process> Zygote::fork_launcher(int control, int wake)
{
    const std::lock_guard lock(mutex_);
    std::optional<int> answer;
    for (int attempt = 0; attempt < 2 && !answer; ++attempt) {
        if (!socket_ && !start()) {
            return std::nullopt;
        }
        answer = ask(control, wake);
        if (!answer) {
            stop(); // someone has killed it
        }
    }
    if (!answer || *answer == -ENOSYS || *answer == -EPERM) {
        return std::nullopt; // a launcher by itself will say why, as where a filter forbids clone3
    }
    if (*answer <= 0) {
        throw Failure(step, -*answer, "fork a launcher");
    }
    UniqueFd pidfd(sys::pidfd_open(*answer, 0)); // of a child that nobody else waits for
    if (!pidfd) {
        throw Failure(step, errno, "pidfd_open"); // it ends with its socket
    }
    return Process(*answer, std::move(pidfd));
}

} // namespace berth::local
