#include "sandbox/local/launcher/zygote.hpp"

#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/request.hpp"
#include "sandbox/local/launcher/thread_number.hpp"
#include "sandbox/protocol/wire.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr std::size_t longest_message = 64; // with the name of a cgroup

/// `own` becomes descriptor `number`; whatever that was is closed.
void place(const UniqueFd& own, int number)
{
    if (::dup2(own.get(), number) < 0) {
        throw_errno("dup2");
    }
}

/// Out of the way of the numbers that a launcher's descriptors have.
UniqueFd moved_up(const UniqueFd& descriptor)
{
    constexpr int free_from = zygote_fd + 1;
    UniqueFd moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, free_from));
    if (!moved) {
        throw_errno("move a descriptor");
    }
    return moved;
}

/// So that nothing of the zygote's, which launchers inherit, gets that number, where what a
/// launcher has there would take its place.
void hold(int number)
{
    UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null) {
        throw_errno("open /dev/null");
    }
    if (null.get() == number) {
        static_cast<void>(null.release());
    } else {
        place(null, number);
    }
}

void become_launcher(DescriptorMessage& message)
{
    // Held open here, its end could not be seen by the launchers that come after this one.
    ::close(zygote_fd);
    const UniqueFd control = moved_up(message.descriptors.front());
    const UniqueFd wake = moved_up(message.descriptors.back());
    message.descriptors.clear();
    place(control, launcher_control_fd);
    place(wake, launcher_wake_fd);
    write_number(launcher_control_fd, ::getpid());
    if (::setsid() < 0) {
        throw_errno("setsid");
    }
}

/// The root that launchers are given.
class Roots {
  public:
    /// `encoded`: Ahead.
    void expect(const std::string& encoded)
    {
        expected_ = protocol::decode<Ahead>(encoded);
        std::string base = std::exchange(expected_.base, {});
        const bool other = base != base_;
        base_ = std::move(base);
        if (other || !root_) {
            make();
        }
    }

    void renew()
    {
        if (!base_.empty() && (!root_ || !root_->is_current())) {
            make();
        }
    }

    /// Once only: in a launcher, which holds it no longer than it is of use to it.
    [[nodiscard]] Supplies take(const std::string& message)
    {
        expected_.cgroup.name = message.substr(1);
        if (root_ && !root_->clone_ahead()) {
            root_.reset();
        }
        return {.root = std::exchange(root_, std::nullopt),
                .expected = expected_,
                .waits = message.front() == message_fork_to_wait};
    }

  private:
    void make()
    {
        root_.reset(); // its keeper ends, if no launcher has it
        root_ = PreparedRoot::make(base_);
    }

    std::string base_; ///< encoded
    Ahead expected_;
    std::optional<PreparedRoot> root_;
};

} // namespace

Supplies fork_launchers(const ProcessName& name)
{
    name.show("berth-zygote");
    hold(launcher_control_fd);
    hold(launcher_wake_fd);
    Roots roots;
    for (;;) {
        auto message = receive_descriptors(zygote_fd, longest_message);
        if (message.descriptors.empty()) {
            ::_exit(0); // the server has ended
        }
        if (message.bytes.front() == message_prepare) {
            roots.expect(content_of(message.descriptors.front()));
            continue;
        }
        while (::waitpid(-1, nullptr, WNOHANG) > 0) { // keepers that have ended
        }
        roots.renew();
        clone_args args{};
        args.flags = CLONE_PARENT; // with the exit signal that this process has: SIGCHLD
        const pid_t pid = clone_with_thread_number(args);
        if (pid == 0) {
            become_launcher(message);
            name.show("berth-launcher");
            return roots.take(message.bytes);
        }
        const int error = errno;
        // First: else the server could not see a launcher's end for as long as this one lives.
        message.descriptors.clear();
        if (pid < 0) {
            write_number(zygote_fd, -error);
        }
    }
}

} // namespace berth::local
