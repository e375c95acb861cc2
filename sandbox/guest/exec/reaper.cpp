#include "sandbox/guest/exec/reaper.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/exec/traced.hpp"

#include <csignal>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::guest {
namespace {

/// Per wake-up: a fork bomb that dies must not keep the loop from others.
constexpr int share = 64;

UniqueFd open_signals()
{
    // Ignored (as a parent may have left it), the kernel would reap and the guest learn nothing.
    ::signal(SIGCHLD, SIG_DFL);
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) {
        throw_errno("signalfd");
    }
    return fd;
}

} // namespace

struct Reaper::Core : std::enable_shared_from_this<Reaper::Core> {
    Core(EventLoop& event_loop, Reaped on_reaped, Stopped on_stopped)
        : loop(event_loop), reaped(std::move(on_reaped)), stopped(std::move(on_stopped)),
          signals(open_signals())
    {
    }

    void reap();

    EventLoop& loop;
    Reaped reaped;
    Stopped stopped;
    UniqueFd signals;
};

void Reaper::Core::reap()
{
    // Many children may stand behind one signal, so it only says "look".
    signalfd_siginfo info{};
    while (::read(signals.get(), &info, sizeof(info)) > 0) {
    }
    for (int i = 0; i < share; ++i) {
        int status = 0;
        rusage usage{};
        const pid_t pid = ::wait4(-1, &status, WNOHANG | WUNTRACED | __WALL, &usage);
        if (pid <= 0) {
            return;
        }
        if (WIFSTOPPED(status)) {
            if (!let_go_on(pid, WSTOPSIG(status))) {
                stopped(pid);
            }
        } else {
            reaped(pid, status, usage);
        }
    }
    loop.post([weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->reap();
        }
    });
}

Reaper::Reaper(EventLoop& loop, Reaped reaped, Stopped stopped)
    : core_(std::make_shared<Core>(loop, std::move(reaped), std::move(stopped)))
{
    loop.watch(core_->signals.get(), EPOLLIN,
               [core = core_.get()](std::uint32_t) { core->reap(); });
}

Reaper::~Reaper()
{
    core_->loop.unwatch(core_->signals.get());
}

} // namespace berth::guest
