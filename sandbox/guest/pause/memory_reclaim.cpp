#include "sandbox/guest/pause/memory_reclaim.hpp"

#include <exception>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace berth::guest {
namespace {

/// Of one write, which nothing interrupts.
constexpr std::string_view step = "32M";

} // namespace

MemoryReclaim::MemoryReclaim(EventLoop& loop, Workers& workers, int directory, Options options)
    : loop_(loop), workers_(workers), options_(options), work_(std::make_shared<Work>())
{
    if (directory >= 0) {
        work_->file.reset(::openat(directory, "memory.reclaim", O_WRONLY | O_CLOEXEC));
    }
}

MemoryReclaim::~MemoryReclaim()
{
    end();
}

void MemoryReclaim::begin()
{
    if (work_->file.valid()) {
        loop_.cancel(timer_);
        timer_ = loop_.call_at(BootClock::now() + options_.after, [this] { start(); });
    }
}

void MemoryReclaim::end() noexcept
{
    loop_.cancel(timer_);
    work_->wanted = false;
}

void MemoryReclaim::start()
{
    work_->wanted = true;
    if (work_->running.exchange(true)) {
        return; // of the pause before; it sees that it is wanted again
    }
    try {
        workers_.run([work = work_] { run(*work); });
    } catch (const std::exception&) {
        work_->running = false; // no thread is to be had: the memory stays
    }
}

/// A write fails as soon as the kernel finds less than a step that it can take.
void MemoryReclaim::run(Work& work) noexcept
{
    while (work.wanted && ::write(work.file.get(), step.data(), step.size()) > 0) {
    }
    work.running = false;
}

} // namespace berth::guest
