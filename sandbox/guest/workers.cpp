#include "sandbox/guest/workers.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/fair_line.hpp"
#include "sandbox/guest/heap.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <utility>

#include <pthread.h>

namespace berth::guest {

namespace {

/// The jobs of one kind.
struct Line {
    Line(std::size_t most_at_once, std::size_t queue) : most(most_at_once), waiting(queue) {}

    const std::size_t most; ///< at once
    std::size_t running = 0;
    FairLine<Workers::Job> waiting;

    /// How many could begin if there were threads.
    [[nodiscard]] std::size_t ready() const noexcept
    {
        return std::min(waiting.size(), most - running);
    }
};

} // namespace

struct Workers::State {
    explicit State(const Options& given) : options(given) {}

    const Options options;
    std::mutex mutex;
    std::condition_variable wanted; ///< a job, or the end
    std::condition_variable ended;
    std::array<Line, 5> lines{line_of(options.most), line_of(options.most_searches),
                              line_of(options.most_listings), line_of(options.most_transfers),
                              line_of(options.most_filters)}; ///< by Kind
    Askers askers;                                            ///< of all kinds
    std::size_t threads = 0;
    std::size_t idle = 0;
    bool stopping = false;

    [[nodiscard]] Line line_of(std::size_t most) const
    {
        return {std::min(most, options.most), options.queue};
    }

    [[nodiscard]] Line& line(Kind kind) noexcept { return lines[static_cast<std::size_t>(kind)]; }

    /// Jobs that only want for threads.
    [[nodiscard]] std::size_t ready() const noexcept;
    void work();
    [[nodiscard]] Line* next(Job& job, Line* done);
    [[nodiscard]] bool start_thread(const std::shared_ptr<State>& self) const;
};

std::size_t Workers::State::ready() const noexcept
{
    return std::accumulate(lines.begin(), lines.end(), std::size_t{0},
                           [](std::size_t sum, const Line& one) { return sum + one.ready(); });
}

/// The job whose turn it is, of those that may begin, and its line, or none when the thread shall
/// end; it has been counted out then. `done`: the line of the thread's last job.
Line* Workers::State::next(Job& job, Line* done)
{
    std::unique_lock lock(mutex);
    if (done != nullptr) {
        --done->running;
    }
    ++idle;
    wanted.wait_for(lock, options.idle, [this] { return stopping || ready() > 0; });
    --idle;
    if (stopping || ready() == 0) {
        --threads;
        ended.notify_all();
        return nullptr;
    }
    Line* chosen = nullptr;
    for (Line& one : lines) {
        if (one.ready() > 0 && (chosen == nullptr || one.waiting.rank() < chosen->waiting.rank())) {
            chosen = &one;
        }
    }
    job = chosen->waiting.pop(askers);
    ++chosen->running;
    if (ready() > 0) {
        wanted.notify_one(); // who was woken for this one finds the next
    }
    return chosen;
}

void Workers::State::work()
{
    Job job;
    Line* line = nullptr;
    while ((line = next(job, line)) != nullptr) {
        job();
        job = nullptr; // what it holds must not wait for the next one
    }
    give_back_freed_memory(); // a search may have left a megabyte of freed paths in the heap
}

bool Workers::State::start_thread(const std::shared_ptr<State>& self) const
{
    const auto begin = [](void* argument) -> void* {
        // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): handed over through pthread_create
        const std::unique_ptr<std::shared_ptr<State>> state(
            static_cast<std::shared_ptr<State>*>(argument));
        (*state)->work();
        return nullptr;
    };
    auto argument = std::make_unique<std::shared_ptr<State>>(self);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    ::pthread_attr_setstacksize(&attributes, options.stack);
    pthread_t thread{};
    const int error = ::pthread_create(&thread, &attributes, begin, argument.get());
    ::pthread_attr_destroy(&attributes);
    if (error == 0) {
        [[maybe_unused]] auto* const the_thread_has_it = argument.release();
    }
    return error == 0;
}

Workers::Workers(const Options& options) : state_(std::make_shared<State>(options)) {}

Workers::~Workers()
{
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    for (Line& line : state_->lines) {
        line.waiting.clear();
    }
    state_->wanted.notify_all();
    state_->ended.wait(lock, [this] { return state_->threads == 0; });
}

void Workers::run(Job job, Kind kind, const std::string& asker)
{
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    Line& line = state.line(kind);
    if (!line.waiting.push(state.askers, asker, std::move(job))) {
        throw Error(ErrorCode::busy, "too many calls wait for a thread of the sandbox's guest",
                    "wait for the ones that run");
    }
    if (state.idle >= state.ready() || state.threads >= state.options.most) {
        state.wanted.notify_one();
        return;
    }
    if (state.start_thread(state_)) {
        ++state.threads;
    } else if (state.threads == 0) {
        line.waiting.drop_newest();
        throw Error(ErrorCode::busy, "no thread can be started in the sandbox",
                    "end some of its processes");
    }
}

std::size_t Workers::threads() const
{
    const std::lock_guard lock(state_->mutex);
    return state_->threads;
}

} // namespace berth::guest
