#include "sandbox/e2b/http_pool.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include <signal.h>

namespace berth::e2b {
namespace {

/// A library that writes to a socket whose other end is gone raises SIGPIPE; and a signal for the
/// server is none for a thread that waits for a network.
void block_signals() noexcept
{
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

/// While something goes on: see SocketHold::shut().
constexpr std::chrono::milliseconds insistence{500};

} // namespace

HttpPool::HttpPool(HttpSettings settings)
    : settings_(std::move(settings)), upkeep_([this] { look_after(); })
{
}

HttpPool::~HttpPool()
{
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
        for (const auto& job : jobs_) {
            job.transfer->cut();
        }
        changed_.notify_all();
    }
    upkeep_.join();
}

void HttpPool::begin(const Endpoint& endpoint, const std::shared_ptr<HttpTransfer>& transfer)
{
    const std::scoped_lock lock(mutex_);
    const auto job = jobs_.insert(jobs_.end(), Job{.thread = {}, .transfer = transfer});
    try {
        job->thread = std::thread([this, endpoint, job] {
            block_signals();
            run(endpoint, *job->transfer);
            const std::scoped_lock guard(mutex_);
            job->done = true;
            changed_.notify_all();
        });
    } catch (...) {
        jobs_.erase(job);
        throw;
    }
}

std::size_t HttpPool::idle() const
{
    const std::scoped_lock lock(mutex_);
    return idle_.size();
}

void HttpPool::run(const Endpoint& endpoint, HttpTransfer& transfer)
try {
    auto connection = take(endpoint);
    if (connection->exchange(transfer)) {
        if (connection->is_usable()) {
            keep(endpoint, std::move(connection));
        }
        transfer.succeed();
    }
} catch (const std::exception& error) {
    transfer.detach();
    transfer.fail(HttpFailure::Cause::broken, error.what(), {});
}

std::unique_ptr<HttpConnection> HttpPool::take(const Endpoint& endpoint)
{
    {
        const std::scoped_lock lock(mutex_);
        // The latest: the others can grow old and be closed.
        const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& each) {
            return each.endpoint == endpoint;
        });
        if (found != idle_.rend()) {
            auto connection = std::move(found->connection);
            idle_.erase(std::next(found).base());
            return connection;
        }
    }
    return std::make_unique<HttpConnection>(endpoint, settings_);
}

void HttpPool::keep(const Endpoint& endpoint, std::unique_ptr<HttpConnection> connection)
{
    std::unique_ptr<HttpConnection> oldest; // is closed without the lock
    const std::scoped_lock lock(mutex_);
    if (stopping_ || settings_.most_idle == 0) {
        oldest = std::move(connection);
        return;
    }
    if (idle_.size() >= settings_.most_idle) {
        oldest = std::move(idle_.front().connection);
        idle_.erase(idle_.begin());
    }
    idle_.push_back(
        {.endpoint = endpoint, .connection = std::move(connection), .since = Clock::now()});
    changed_.notify_all();
}

HttpPool::Clock::duration HttpPool::until_next() const
{
    auto wait = idle_.empty() ? Clock::duration(std::chrono::hours(1))
                              : idle_.front().since + settings_.idle - Clock::now();
    for (const auto& job : jobs_) {
        job.transfer->insist();
        wait = std::min<Clock::duration>(wait, insistence);
    }
    return wait;
}

void HttpPool::join_ended(std::unique_lock<std::mutex>& lock)
{
    std::list<Job> ended;
    for (auto job = jobs_.begin(); job != jobs_.end();) {
        const auto next = std::next(job);
        if (job->done) {
            ended.splice(ended.end(), jobs_, job);
        }
        job = next;
    }
    lock.unlock();
    for (auto& job : ended) {
        job.thread.join();
    }
    ended.clear();
    lock.lock();
}

void HttpPool::look_after()
{
    block_signals();
    std::unique_lock lock(mutex_);
    while (!stopping_ || !jobs_.empty()) {
        std::vector<Idle> old;
        while (!idle_.empty() && idle_.front().since + settings_.idle <= Clock::now()) {
            old.push_back(std::move(idle_.front()));
            idle_.erase(idle_.begin());
        }
        const bool ended =
            std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.done; });
        if (ended || !old.empty()) {
            join_ended(lock);
            lock.unlock();
            old.clear();
            lock.lock();
            continue;
        }
        changed_.wait_for(lock, until_next());
    }
}

} // namespace berth::e2b
