#include "sandbox/local/launchers.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/protocol/wire.hpp"

#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <utility>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::local {
namespace {

// Longer than the launcher's own patience with the guest.
constexpr std::chrono::seconds patience{30};

UniqueFd spec_file(const LaunchSpec& spec)
{
    UniqueFd fd(::memfd_create("berth-spec", MFD_CLOEXEC));
    if (!fd) {
        throw_errno("memfd_create");
    }
    write_full(fd.get(), protocol::encode(spec));
    if (::lseek(fd.get(), 0, SEEK_SET) != 0) {
        throw_errno("rewind the spec");
    }
    return fd;
}

/// False when the launcher is gone.
bool send_request(int control, int spec_fd, int lifetime_fd)
{
    char byte = 'L';
    iovec data{&byte, 1};
    const int descriptors[2] = {spec_fd, lifetime_fd};
    const std::size_t size = (lifetime_fd >= 0 ? 2 : 1) * sizeof(int);
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof descriptors)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors, size);
    return ::sendmsg(control, &message, MSG_NOSIGNAL) == 1;
}

LaunchResult failure(const char* text)
{
    LaunchResult result;
    result.step = "launcher";
    result.text = text;
    return result;
}

LaunchResult read_result(int fd)
{
    const Deadline deadline = Deadline::after(patience);
    std::string text;
    for (;;) {
        pollfd waiting{fd, POLLIN, 0};
        if (::poll(&waiting, 1, deadline.poll_timeout()) == 0) {
            return failure("the launcher did not answer");
        }
        char buffer[4096];
        const ssize_t size = ::read(fd, buffer, sizeof buffer);
        if (size > 0) {
            text.append(buffer, static_cast<std::size_t>(size));
        } else if (size == 0 || errno != EINTR) {
            break;
        }
    }
    if (text.empty()) {
        return failure("the launcher ended without an answer");
    }
    try {
        return protocol::decode<LaunchResult>(text);
    } catch (const protocol::WireError&) {
        return failure("the launcher's answer cannot be read");
    }
}

/// Of a launcher that has answered, or whose socket is at its end.
void end(Process& launcher) noexcept
{
    try {
        if (!launcher.wait(Deadline::after(std::chrono::seconds(5)))) {
            (void)launcher.signal(SIGKILL);
            (void)launcher.wait(Deadline());
        }
    } catch (const std::exception&) {
        return; // it ends by itself; a zombie is no reason to lose a machine
    }
}

} // namespace

Launchers::Launchers(std::string program) : program_(std::move(program)) {}

Launchers::~Launchers()
{
    if (keeper_.joinable()) {
        keeper_.request_stop();
        keeper_.join();
    }
    if (waiting_) {
        waiting_->control.reset();
        end(waiting_->process);
    }
}

Launchers::Launcher Launchers::start() const
{
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        throw_errno("socketpair");
    }
    UniqueFd ours(pair[0]);
    const UniqueFd theirs(pair[1]);
    SpawnOptions options;
    options.arguments = {"berth-launcher"};
    options.descriptors = {{theirs.get(), launcher_control_fd}};
    options.new_session = true;
    return {Process::spawn(program_, options), std::move(ours)};
}

Launchers::Launcher Launchers::take()
{
    {
        const std::lock_guard lock(mutex_);
        if (waiting_) {
            Launcher launcher = std::move(*waiting_);
            waiting_.reset();
            return launcher;
        }
    }
    return start();
}

LaunchResult Launchers::launch(const LaunchSpec& spec, int lifetime_fd)
{
    const UniqueFd file = spec_file(spec);
    Launcher launcher = take();
    if (!send_request(launcher.control.get(), file.get(), lifetime_fd)) {
        // The one that waited was killed by someone.
        done(std::move(launcher));
        launcher = start();
        (void)send_request(launcher.control.get(), file.get(), lifetime_fd);
    }
    LaunchResult result = read_result(launcher.control.get());
    done(std::move(launcher));
    return result;
}

/// What is left to do for a launcher needs no one to wait for it. Where no thread can be had for
/// that, it is waited for: the machine it has made must not be lost by an exception here.
void Launchers::done(Launcher launcher) noexcept
{
    launcher.control.reset();
    try {
        const std::lock_guard lock(mutex_);
        if (!keeper_.joinable()) {
            keeper_ = std::jthread([this](const std::stop_token& stop) { keep_one_waiting(stop); });
        }
        ending_.push_back(std::move(launcher));
        wanted_ = true;
        changed_.notify_one();
        return;
    } catch (const std::exception&) {
        end(launcher.process);
    }
}

void Launchers::keep_one_waiting(const std::stop_token& stop)
{
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return wanted_ || !ending_.empty(); })) {
        auto ending = std::exchange(ending_, {});
        const bool start_one = std::exchange(wanted_, false) && !waiting_;
        lock.unlock();
        for (auto& [process, control] : ending) {
            end(process);
        }
        std::optional<Launcher> started;
        try {
            if (start_one) {
                started = start();
            }
        } catch (const std::exception&) {
            // The next launch tries it too, and says why it cannot be.
            started.reset();
        }
        lock.lock();
        if (started) {
            waiting_ = std::move(started);
        }
    }
}

} // namespace berth::local
