#include "server/signals.hpp"

#include "sandbox/base/error.hpp"

#include <csignal>

#include <sys/signalfd.h>

namespace berth::server {

UniqueFd take_signals()
{
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        sigaddset(&set, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN); // NOLINT(bugprone-signal-handler): a client that went away is EPIPE
    // Behind a terminal's foreground a read is an error then; else it stops the process, and again
    // each time it is continued to take a signal that ends it.
    ::signal(SIGTTIN, SIG_IGN); // NOLINT(bugprone-signal-handler)
    UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC));
    if (!signals) {
        throw_errno("signalfd");
    }
    return signals;
}

} // namespace berth::server
