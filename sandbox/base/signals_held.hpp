#pragma once

#include <csignal>

namespace berth {

/// Holds all signals back from this thread for as long as it lives. A thread that is begun
/// meanwhile takes none, ever: a signal for the program would find it, and not who waits for
/// signals, whose own mask may not be set yet, and would end the program where it stands.
class SignalsHeld {
  public:
    SignalsHeld() noexcept
    {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }

    ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;

  private:
    sigset_t before_{};
};

} // namespace berth
