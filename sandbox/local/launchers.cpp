#include "sandbox/local/launchers.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/host_time.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/signals_held.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/cgroup_slots.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/poll_awake.hpp"
#include "sandbox/local/process_identity.hpp"
#include "sandbox/local/processors.hpp"
#include "sandbox/protocol/wire.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr std::chrono::seconds farewell_time{5};

LaunchResult failure(const char* text)
{
    LaunchResult result;
    result.step = "launcher";
    result.text = text;
    return result;
}

/// What comes until the socket's end, behind what is in `text`. False when the time is over first.
bool read_all(int fd, std::string& text, const Deadline& deadline)
{
    for (;;) {
        if (!wait_readable(fd, deadline)) {
            return false;
        }
        char buffer[4096];
        const ssize_t size = ::read(fd, buffer, sizeof buffer);
        if (size > 0) {
            text.append(buffer, static_cast<std::size_t>(size));
        } else if (size == 0 || errno != EINTR) {
            return true;
        }
    }
}

LaunchResult decode_result(std::string_view text)
{
    if (text.starts_with(message_mounted)) {
        text.remove_prefix(1);
    }
    if (text.empty()) { // whatever fails in it is answered
        auto killed = failure("the launcher was ended before it had made the sandbox");
        killed.step = step_killed;
        return killed;
    }
    try {
        return protocol::decode<LaunchResult>(text);
    } catch (const protocol::WireError&) {
        return failure("the launcher's answer cannot be read");
    }
}

LaunchResult read_result(int fd, const Deadline& deadline)
{
    std::string text;
    if (read_all(fd, text, deadline)) {
        return decode_result(text);
    }
    // For the launcher this is the server's end: it removes what it has made. If it has made all of
    // it just now, its answer is on its way, and nobody else would ever know of that machine.
    ::shutdown(fd, SHUT_WR);
    if (read_all(fd, text, Deadline::after(farewell_time)) && !text.empty()) {
        if (auto result = decode_result(text); result.ok) {
            return result;
        }
    }
    return failure("the launcher did not answer");
}

/// Or until it has failed. What this process reads of the host's mounts, the launcher's calls would
/// have to wait for; and what it read before they were cloned might not be what was cloned.
void wait_until_mounted(int fd, bool apart, const Deadline& deadline)
{
    if (!apart || !poll_awake(fd)) {
        (void)wait_readable(fd, deadline);
    }
}

std::exception_ptr failure_of(const std::function<void()>& work) noexcept
{
    try {
        work();
        return nullptr;
    } catch (...) {
        return std::current_exception();
    }
}

/// By its cgroups it would be found only where it has some.
void kill_guest(const LaunchResult& result)
{
    if (!result.ok) {
        return;
    }
    const auto pid = static_cast<pid_t>(result.pid);
    if (const UniqueFd guest = open_process(pid, result.start_time, boot_id())) {
        (void)sys::pidfd_send_signal(guest.get(), SIGKILL);
    }
}

} // namespace

Launchers::Launchers(std::string program, bool with_guest, std::chrono::milliseconds patience,
                     std::function<void()> beside)
    : program_(std::move(program)), patience_(patience), beside_(std::move(beside))
{
    if (with_guest) {
        zygote_.emplace(program_, patience_);
    }
}

Launchers::~Launchers()
{
    if (keeper_.joinable()) {
        keeper_.request_stop();
        keeper_.join();
    }
    if (waiting_) {
        waiting_->control.reset();
        waiting_->process.end();
    }
}

/// `cgroup`: as Zygote::fork_launcher().
Launchers::Launcher Launchers::start(const std::string& cgroup)
{
    if (zygote_) {
        if (auto forked = zygote_->fork_launcher(cgroup)) {
            return {.process = std::move(forked->process),
                    .control = std::move(forked->control),
                    .wake = std::move(forked->wake),
                    .has_guest = true,
                    .cgroup = cgroup,
                    .processors = {}};
        }
    }
    auto [control, theirs] = make_socket_pair();
    Launcher launcher{.process = {},
                      .control = std::move(control),
                      .wake = make_launcher_wake(),
                      .has_guest = false,
                      .cgroup = {},
                      .processors = {}};
    SpawnOptions options;
    options.arguments = {"berth-launcher"};
    options.descriptors = {{theirs.get(), launcher_control_fd},
                           {launcher.wake.get(), launcher_wake_fd}};
    options.new_session = true;
    try {
        launcher.process = Process::spawn(program_, options);
    } catch (const std::system_error& error) {
        throw Failure("launcher", error.code().value(), "start " + program_);
    }
    return launcher;
}

Launchers::Reserved::Reserved(Launchers& from, std::optional<Launcher> launcher)
    : from_(&from), launcher_(std::move(launcher))
{
}

Launchers::Reserved::Reserved(Reserved&& other) noexcept
    : from_(other.from_), launcher_(std::exchange(other.launcher_, std::nullopt))
{
}

Launchers::Reserved::~Reserved()
{
    if (launcher_) {
        from_->done(std::move(*launcher_));
    }
}

std::string Launchers::Reserved::cgroup() const
{
    return launcher_ ? launcher_->cgroup : std::string();
}

Launchers::Launcher Launchers::Reserved::take()
{
    return launcher_ ? *std::exchange(launcher_, std::nullopt) : from_->start("");
}

Launchers::Reserved Launchers::reserve()
{
    const std::lock_guard lock(mutex_);
    auto launcher = std::exchange(waiting_, std::nullopt);
    if (launcher) {
        wake(*launcher);
    }
    return {*this, std::move(launcher)};
}

/// Onto another processor than this thread's, which goes on.
void Launchers::wake(Launcher& launcher)
{
    launcher.processors = keep_off_this_processor(launcher.process.pid());
    // A new one's count has room.
    (void)::eventfd_write(launcher.wake.get(),
                          launcher.processors->empty() ? wake_beside : wake_apart);
}

/// False when the launcher is gone.
bool Launchers::send(Launcher& launcher, LaunchSpec& spec, const Lent& lent)
{
    spec.has_lock = lent.lock >= 0;
    spec.has_proxy = lent.proxy >= 0;
    spec.become_guest = launcher.has_guest;
    if (!launcher.processors) {
        wake(launcher);
    }
    spec.processors = *launcher.processors;
    const UniqueFd file = make_memory_file("berth-spec", protocol::encode(spec));
    std::vector<int> descriptors{file.get()};
    for (const int fd : {lent.lock, lent.proxy, lent.lifetime}) {
        if (fd >= 0) {
            descriptors.push_back(fd);
        }
    }
    return send_descriptors(launcher.control.get(), {&message_launch, 1}, descriptors);
}

void Launchers::expect(const Ahead& ahead)
{
    std::string encoded = protocol::encode(ahead);
    const std::lock_guard lock(mutex_);
    expected_ = std::move(encoded);
}

LaunchResult Launchers::launch(LaunchSpec spec, const Lent& lent)
{
    return launch(reserve(), std::move(spec), lent, [] { return Handover(); }, [] {});
}

LaunchResult Launchers::launch(Reserved reserved, LaunchSpec spec, const Lent& lent,
                               const std::function<Handover()>& meanwhile,
                               const std::function<void()>& then)
{
    Launcher launcher = reserved.take();
    try {
        if (!send(launcher, spec, lent)) {
            // The one that waited was killed by someone.
            done(std::exchange(launcher, {}));
            launcher = start("");
            (void)send(launcher, spec, lent);
        }
        if (!send_handover(launcher.control.get(), meanwhile())) {
            // It has failed and answered, or cannot be reached: then it does not wait any longer.
            ::shutdown(launcher.control.get(), SHUT_WR);
        }
    } catch (...) {
        // It sees the end of the socket, and removes what it has made by then.
        launcher.control.reset();
        if (launcher.process.valid()) { // else no other could be started
            launcher.process.end();
        }
        throw;
    }
    const Deadline deadline = Deadline::after(patience_);
    wait_until_mounted(launcher.control.get(), !launcher.processors->empty(), deadline);
    const std::exception_ptr failed = failure_of(then);
    LaunchResult result = read_result(launcher.control.get(), deadline);
    done(std::move(launcher));
    if (failed) {
        kill_guest(result);
        std::rethrow_exception(failed);
    }
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
            const SignalsHeld held; // `--require` launches before the server takes its signals
            keeper_ = std::jthread([this](const std::stop_token& stop) { keep_one_waiting(stop); });
        }
        ending_.push_back(std::move(launcher));
        wanted_ = true;
        changed_.notify_one();
        return;
    } catch (const std::exception&) {
        launcher.process.end();
    }
}

namespace {

/// Of this thread. Woken by whoever has a machine to hand over, it would take that one's processor:
/// a thread of a batch never does. What it starts would inherit that, so it is no such thread by
/// then. Another policy than the usual one is what the operator gave the server and its sandboxes.
void wait_without_haste(bool waiting) noexcept
{
    const sched_param none{};
    (void)::sched_setscheduler(0, waiting ? SCHED_BATCH : SCHED_OTHER, &none);
}

bool has_usual_policy() noexcept
{
    return ::sched_getscheduler(0) == SCHED_OTHER;
}

} // namespace

/// By the thread that keeps one waiting.
void Launchers::start_waiting(const std::string& expected)
{
    std::optional<Launcher> started;
    try {
        if (zygote_ && !expected.empty()) {
            zygote_->prepare(expected);
        }
        started = start(zygote_ && !expected.empty() ? new_slot() : "");
    } catch (const std::exception&) {
        return; // the next launch tries it too, and says why it cannot be
    }
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(started);
}

void Launchers::keep_one_waiting(const std::stop_token& stop)
{
    const bool usual = has_usual_policy();
    bool beside = false; // what is made beside it is missing
    std::unique_lock lock(mutex_);
    const auto called = [this] { return wanted_ || !ending_.empty(); };
    for (;;) {
        if (usual) {
            wait_without_haste(true);
        }
        if (beside && !changed_.wait_for(lock, stop, quiet, called) && !stop.stop_requested()) {
            beside = false;
            lock.unlock();
            beside_();
            lock.lock();
        }
        if (!changed_.wait(lock, stop, called)) {
            return;
        }
        if (usual) {
            wait_without_haste(false);
        }
        auto ending = std::exchange(ending_, {});
        const bool start_one = std::exchange(wanted_, false);
        const bool missing = start_one && !waiting_;
        const std::string expected = expected_;
        lock.unlock();
        for (auto& launcher : ending) {
            launcher.process.end();
        }
        if (missing) {
            start_waiting(expected);
        }
        beside = beside || (start_one && beside_);
        lock.lock();
    }
}

} // namespace berth::local
