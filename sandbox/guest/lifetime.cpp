#include "sandbox/guest/lifetime.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace berth::guest {
namespace {

/// How often the use is looked at: an end may come so much late, never early.
BootClock::duration step(BootClock::duration idle_end) noexcept
{
    return std::clamp<BootClock::duration>(idle_end / 8, std::chrono::milliseconds(20),
                                           std::chrono::seconds(30));
}

/// The kernel shows a sender outside of the pid namespace as 0. Without a namespace of its own the
/// guest obeys its parent.
bool from_outside(const signalfd_siginfo& signal) noexcept
{
    // A command can have 0 stand there too: rt_sigqueueinfo(2) takes any si_pid along with a
    // negative si_code, and a signal of F_SETOWN and F_SETSIG has none. That kill(2) sent it
    // (SI_USER, which is 0) is what the kernel lets nobody claim of a signal to another process.
    if (signal.ssi_code != SI_USER) {
        return false;
    }
    // Where the kernel has no room to note who sent a signal (RLIMIT_SIGPENDING, which a command
    // can use up for its user, then tgkill(2)), it has kill(2), pid 0 and uid 0 stand there. A
    // sender from outside has another uid here: the guest's, or the one for those that are not
    // mapped.
    if (signal.ssi_uid == 0 && ::getuid() != 0) {
        return false;
    }
    const auto sender = static_cast<pid_t>(signal.ssi_pid);
    return sender == 0 || (::getpid() != 1 && sender == ::getppid());
}

} // namespace

Lifetime::Lifetime(EventLoop& loop, Options options, std::function<void()> end)
    : loop_(loop), options_(std::move(options)), end_(std::move(end)), pipe_(options_.lifetime_fd)
{
    sigset_t wanted;
    ::sigemptyset(&wanted);
    ::sigaddset(&wanted, SIGTERM);
    signals_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) {
        throw_errno("signalfd");
    }
    loop_.watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { take_signals(); });
    if (pipe_) {
        loop_.watch(pipe_.get(), EPOLLIN, [this](std::uint32_t) { take_lifetime(); });
    }
    if (options_.idle_end.count() > 0) {
        timer_ = loop_.call_at(last_use_ + step(options_.idle_end), [this] { check_use(); });
    }
}

Lifetime::~Lifetime()
{
    loop_.cancel(timer_);
    loop_.unwatch(signals_.get());
    if (pipe_) {
        loop_.unwatch(pipe_.get());
    }
}

void Lifetime::take_signals()
{
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
        if (from_outside(signal)) {
            end_();
        }
    }
}

void Lifetime::take_lifetime()
{
    char byte = 0;
    const ssize_t size = ::read(pipe_.get(), &byte, 1);
    if (size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN))) {
        return;
    }
    loop_.unwatch(pipe_.get());
    pipe_.reset();
    end_();
}

bool Lifetime::set_idle_end(BootClock::duration idle_end)
{
    if (options_.idle_end.count() <= 0 || idle_end.count() <= 0) {
        return false;
    }
    options_.idle_end = idle_end;
    // The next look may be further away than the new end.
    loop_.cancel(timer_);
    timer_ = loop_.call_at(BootClock::now() + step(idle_end), [this] { check_use(); });
    return true;
}

std::optional<BootClock::duration> Lifetime::ends_in() const
{
    if (options_.idle_end.count() <= 0 || options_.in_use()) {
        return std::nullopt;
    }
    return std::max(last_use_ + options_.idle_end - BootClock::now(), BootClock::duration(0));
}

void Lifetime::check_use()
{
    if (options_.at_look) {
        options_.at_look();
    }
    const auto now = BootClock::now();
    const bool in_use = options_.in_use();
    // A job that has ended since the last look may have done so just now.
    if (std::exchange(was_in_use_, in_use) || in_use) {
        last_use_ = now;
    } else if (now - last_use_ >= options_.idle_end) {
        options_.unused();
        return;
    }
    timer_ = loop_.call_at(now + step(options_.idle_end), [this] { check_use(); });
}

} // namespace berth::guest
