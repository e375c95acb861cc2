#pragma once

#include <csignal>

#include <sys/ptrace.h>
#include <sys/types.h>

namespace berth::guest {

/// A process that asks to be traced (PTRACE_TRACEME, as some do to keep debuggers out) has made its
/// parent its tracer, to whom the kernel tells each of its signals by wait(2), and which has to let
/// it go on: it would stand still for ever. True: it goes on, untraced, with the signal that it was
/// stopped for. False: it was no such stop, or the process is gone. Safe after fork().
inline bool let_go_on(pid_t stopped, int signal) noexcept
{
    // What execve(2) sends to whoever is traced would end it.
    const int delivered = signal == SIGTRAP ? 0 : signal;
    return ::ptrace(PTRACE_DETACH, stopped, nullptr, delivered) == 0;
}

} // namespace berth::guest
