#include "sandbox/guest/workers.hpp"

#include "sandbox/base/error.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include <malloc.h>
#include <pthread.h>

namespace berth::guest {

struct Workers::State {
    explicit State(const Options& given) : options(given) {}

    const Options options;
    std::mutex mutex;
    std::condition_variable wanted; ///< a job, or the end
    std::condition_variable ended;
    std::deque<Job> jobs;
    std::size_t threads = 0;
    std::size_t idle = 0;
    bool stopping = false;

    void work();
    [[nodiscard]] Job next();
    [[nodiscard]] bool start_thread(const std::shared_ptr<State>& self) const;
};

/// The next job, or none when the thread shall end; it has been counted out then.
Workers::Job Workers::State::next()
{
    std::unique_lock lock(mutex);
    ++idle;
    wanted.wait_for(lock, options.idle, [this] { return stopping || !jobs.empty(); });
    --idle;
    if (stopping || jobs.empty()) {
        --threads;
        ended.notify_all();
        return {};
    }
    Job job = std::move(jobs.front());
    jobs.pop_front();
    return job;
}

void Workers::State::work()
{
    while (const Job job = next()) {
        job();
    }
    ::malloc_trim(0); // a search may have left a megabyte of freed paths in the heap
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
    state_->jobs.clear();
    state_->wanted.notify_all();
    state_->ended.wait(lock, [this] { return state_->threads == 0; });
}

void Workers::run(Job job)
{
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    if (state.jobs.size() >= state.options.queue) {
        throw Error(ErrorCode::busy, "too many calls on files wait for their turn",
                    "wait for the ones that run");
    }
    state.jobs.push_back(std::move(job));
    if (state.idle >= state.jobs.size() || state.threads >= state.options.most) {
        state.wanted.notify_one();
        return;
    }
    if (state.start_thread(state_)) {
        ++state.threads;
    } else if (state.threads == 0) {
        state.jobs.pop_back();
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
