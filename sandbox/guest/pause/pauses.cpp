#include "sandbox/guest/pause/pauses.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"

#include <utility>

namespace berth::guest {
namespace {

using Order = PauseController::Order;
using State = PauseController::State;

std::uint64_t milliseconds_until(BootClock::time_point at, BootClock::time_point now)
{
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at - now).count();
    return left > 0 ? static_cast<std::uint64_t>(left) : 0;
}

std::string list_of(const std::vector<std::string>& calls)
{
    constexpr std::size_t named = 4;
    return joined_first(calls, named);
}

std::exception_ptr busy(const std::string& why)
{
    return std::make_exception_ptr(
        Error(ErrorCode::busy, "the session was not paused: " + why,
              "Wait until that has ended, or end it, then pause again. Jobs need not end: they are "
              "paused with the session."));
}

std::exception_ptr not_frozen()
{
    return std::make_exception_ptr(Error(
        ErrorCode::busy,
        "the session was not paused: some process of it could not be stopped within 2 s, and all "
        "go on",
        "One that waits for a hung disk or network file system in the kernel cannot be. Try again, "
        "or end the job that it belongs to."));
}

} // namespace

Pauses::Pauses(EventLoop& loop, Commands& commands, Options options)
    : loop_(loop), commands_(commands), options_(std::move(options)), controller_(options_.policy),
      book_([this] { look(); }), cgroup_(loop, options_.commands_cgroup_fd),
      cgroup_v1_(loop, options_.v1_freezer_fd),
      signals_(loop, [this](bool* unread) { return commands_.processes(unread); })
{
    // Not at once: it is told from within what has ended.
    commands_.on_job_end([this] { loop_.post([this] { look(); }); });
    look();
}

Pauses::~Pauses()
{
    commands_.on_job_end(nullptr);
    loop_.cancel(timer_);
    loop_.cancel(patience_timer_);
    if (active_ != nullptr) {
        active_->thaw();
    }
}

void Pauses::close() noexcept
{
    closed_ = true;
    if (active_ != nullptr && !active_->lets_kill()) {
        release();
    }
}

void Pauses::release() noexcept
{
    if (active_ != nullptr) {
        std::exchange(active_, nullptr)->thaw();
    }
}

PauseController::Load Pauses::load() const
{
    return {options_.clients(), book_.size(), commands_.job_count(), commands_.is_settled(),
            Deadline::Clock::now()};
}

const Freezer& Pauses::freezer() const noexcept
{
    if (cgroup_.is_usable() && commands_.in_cgroups()) {
        return cgroup_;
    }
    if (cgroup_v1_.is_usable()) {
        return cgroup_v1_; // a command that cannot enter it is not run
    }
    return signals_;
}

Freezer& Pauses::freezer() noexcept
{
    return const_cast<Freezer&>(std::as_const(*this).freezer()); // NOLINT(*-const-cast): its own
}

std::shared_ptr<CallBook::Ticket> Pauses::begin_call(std::string_view what)
{
    auto ticket = book_.begin(what);
    obey(controller_.call_begins());
    if (!asking_.empty()) {
        answer(busy("a call came meanwhile: " + std::string(what)));
    }
    look();
    return ticket;
}

void Pauses::set_policy(const PauseController::Policy& policy)
{
    options_.policy = policy;
    controller_.set_policy(policy);
    look();
}

void Pauses::look()
{
    if (closed_) {
        return;
    }
    obey(controller_.look(load(), BootClock::now()));
    arm();
}

void Pauses::obey(Order order)
{
    switch (order) {
    case Order::freeze:
        freeze();
        return;
    case Order::thaw:
        thaw();
        return;
    case Order::end:
        options_.end();
        return;
    case Order::none:
        return;
    }
}

void Pauses::freeze()
{
    // Before the first process is frozen: none of the time in which it is may count.
    commands_.hold_clocks();
    active_ = &freezer();
    active_->freeze([this](bool complete) {
        paused_at_ = BootClock::now();
        if (complete && options_.reclaim != nullptr) {
            options_.reclaim->begin();
        }
        obey(controller_.frozen(complete, paused_at_));
        answer(complete ? nullptr : not_frozen());
        arm();
    });
}

void Pauses::thaw()
{
    if (options_.reclaim != nullptr) {
        options_.reclaim->end();
    }
    if (active_ != nullptr) {
        std::exchange(active_, nullptr)->thaw();
        commands_.resume_clocks();
    }
}

/// An earlier timer is left to fire for nothing: cheaper than another for each call.
void Pauses::arm()
{
    const auto next = controller_.next_look(BootClock::now());
    if (!next || (timer_ != 0 && timer_at_ <= *next)) {
        return;
    }
    loop_.cancel(timer_);
    timer_at_ = *next;
    timer_ = loop_.call_at(timer_at_, [this] {
        timer_ = 0;
        look();
    });
}

void Pauses::pause(Done done)
{
    if (controller_.state() == State::paused) {
        done(reply(/*was_paused=*/true), nullptr);
        return;
    }
    if (book_.size() != 0) {
        done({}, busy(list_of(book_.list()) + (book_.size() == 1 ? " is" : " are") + " in flight"));
        return;
    }
    asking_.push_back(std::move(done));
    if (controller_.state() == State::pausing) {
        return; // and is answered with it
    }
    controller_.ask();
    loop_.cancel(patience_timer_);
    patience_timer_ = loop_.call_awake(patience, [this] { give_up(); });
    look();
}

/// What is being frozen has a time limit of its own.
void Pauses::give_up()
{
    if (controller_.state() == State::awake) {
        controller_.take_back();
        answer(busy("a job is being ended"));
    }
}

protocol::PauseReply Pauses::reply(bool was_paused) const
{
    protocol::PauseReply reply;
    reply.was_paused = was_paused;
    reply.jobs = static_cast<std::uint32_t>(commands_.job_count());
    reply.mechanism = active_ != nullptr ? active_->mechanism() : "";
    return reply;
}

/// All who ask for a pause.
void Pauses::answer(const std::exception_ptr& error)
{
    if (asking_.empty()) {
        return;
    }
    loop_.cancel(patience_timer_);
    for (const auto& done : std::exchange(asking_, {})) {
        done(reply(/*was_paused=*/false), error);
    }
}

protocol::ResumeReply Pauses::resume()
{
    protocol::ResumeReply reply;
    const auto now = BootClock::now();
    reply.was_paused = is_paused();
    if (reply.was_paused) {
        reply.paused_for = milliseconds_until(now, paused_at_);
    }
    obey(controller_.resume(now));
    answer(busy("it was woken meanwhile"));
    look();
    return reply;
}

protocol::PauseState Pauses::describe() const
{
    const auto now = BootClock::now();
    protocol::PauseState state;
    state.paused = is_paused();
    state.mechanism = (active_ != nullptr ? *active_ : freezer()).mechanism();
    if (state.paused) {
        state.why = to_string(controller_.why());
        state.since = milliseconds_until(now, paused_at_);
    }
    if (const auto at = controller_.pauses_at()) {
        state.pauses_in = milliseconds_until(*at, now);
    }
    if (const auto at = controller_.ends_at()) {
        state.ends_in = milliseconds_until(*at, now);
    }
    state.clients = static_cast<std::uint32_t>(options_.clients());
    state.calls = book_.list();
    state.idle_pause = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.policy.idle_pause).count());
    return state;
}

} // namespace berth::guest
