#include "sandbox/session/redis_upkeep.hpp"

#include "sandbox/session/redis_scripts.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace berth::session {

RedisHeld::RedisHeld(std::string name, std::string value, std::chrono::milliseconds expiry,
                     bool anew, BootClock::time_point begun)
    : name_(std::move(name)), value_(std::move(value)), expiry_(expiry), anew_(anew),
      ours_until_(begun + expiry)
{
}

bool RedisHeld::holds() const noexcept
{
    const std::lock_guard lock(mutex_);
    return !lost_ && BootClock::now() < ours_until_;
}

void RedisHeld::renew(RedisClient& client)
{
    const std::lock_guard talking(talking_);
    if (over_) {
        return;
    }
    const auto begun = BootClock::now();
    const auto answer =
        client.run(redis_scripts::renew, {name_},
                   {value_, std::to_string(expiry_.count()), anew_ ? "anew" : "as it is"});
    const std::lock_guard lock(mutex_);
    if (answer.number == 1) {
        ours_until_ = begun + expiry_;
    } else {
        over_ = lost_ = true;
    }
}

void RedisHeld::release(RedisClient& client) noexcept
{
    const std::lock_guard talking(talking_);
    over_ = true;
    try {
        (void)client.run(redis_scripts::release, {name_}, {value_});
    } catch (const std::exception&) {
        return;
    }
}

RedisUpkeep::RedisUpkeep(const RedisAddress& address, const RedisTimes& times, RedisBooks& books)
    : times_(times), books_(books), client_(address, times)
{
}

RedisUpkeep::~RedisUpkeep()
{
    if (thread_.joinable()) {
        thread_.request_stop();
        thread_.join();
    }
    try {
        note_all();
    } catch (const std::exception&) {
        return; // a use that nobody has noted: the session's end comes a little earlier
    }
}

void RedisUpkeep::begin()
{
    urgent_ = true;
    if (!thread_.joinable()) {
        thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    }
    changed_.notify_all();
}

void RedisUpkeep::keep(const std::shared_ptr<RedisHeld>& held)
{
    const std::lock_guard lock(mutex_);
    held_.push_back(held);
    begin();
}

void RedisUpkeep::drop(const std::shared_ptr<RedisHeld>& held) noexcept
{
    const std::lock_guard lock(mutex_);
    std::erase(held_, held);
}

void RedisUpkeep::watch()
{
    const std::lock_guard lock(mutex_);
    begin();
}

void RedisUpkeep::note_use(const std::string& key)
{
    const std::lock_guard lock(mutex_);
    uses_.insert(key);
    begin();
}

void RedisUpkeep::note_now(RedisClient& client, const std::string& key)
{
    {
        const std::lock_guard lock(mutex_);
        if (!uses_.contains(key) && being_noted_ != key) {
            return; // nor waits for those of others, behind a Redis that does not answer
        }
    }
    const std::lock_guard noting(noting_);
    {
        const std::lock_guard lock(mutex_);
        if (uses_.erase(key) == 0) {
            return;
        }
        being_noted_ = key;
    }
    note(client, key);
}

/// Of one that was taken from uses_, under noting_.
void RedisUpkeep::note(RedisClient& client, const std::string& key)
{
    try {
        books_.touch(client, key);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        uses_.insert(key);
        being_noted_.clear();
        throw;
    }
    const std::lock_guard lock(mutex_);
    being_noted_.clear();
}

/// The first behind `last`, which it becomes. False: there is none.
bool RedisUpkeep::note_next(std::string& last)
{
    const std::lock_guard noting(noting_);
    std::string key;
    {
        const std::lock_guard lock(mutex_);
        const auto found = uses_.upper_bound(last);
        if (found == uses_.end()) {
            return false;
        }
        key = std::move(uses_.extract(found).value());
        being_noted_ = key;
    }
    last = key;
    note(client_, key);
    return true;
}

void RedisUpkeep::note_all()
{
    std::exception_ptr trouble;
    std::string last;
    for (bool more = true; more;) {
        try {
            more = note_next(last);
        } catch (const std::exception&) {
            // Of one, whose record may be damaged: the others shall not end for that. While Redis
            // is away they fail at once.
            trouble = std::current_exception();
        }
    }
    if (trouble) {
        std::rethrow_exception(trouble);
    }
}

void RedisUpkeep::renew_all()
{
    std::vector<std::shared_ptr<RedisHeld>> held;
    {
        const std::lock_guard lock(mutex_);
        held = held_;
    }
    std::exception_ptr trouble;
    for (const auto& each : held) { // first: they are what cannot wait
        try {
            each->renew(client_);
        } catch (const std::exception&) {
            trouble = std::current_exception(); // of one: the others may well be renewed
        }
    }
    if (trouble) {
        std::rethrow_exception(trouble);
    }
    if (!held.empty() || !books_.empty()) {
        books_.look(client_);
    }
}

void RedisUpkeep::attend(bool renew) noexcept
{
    try {
        if (renew) {
            renew_all();
        }
        note_all();
    } catch (const std::exception&) {
        return; // Redis is away: what is held lapses by itself, and the next round tries again
    }
}

void RedisUpkeep::work(const std::stop_token& stop)
{
    auto round = std::chrono::steady_clock::now() + times_.renewal;
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        const auto is_urgent = [&] { return urgent_; };
        if (held_.empty() && uses_.empty() && books_.empty()) {
            changed_.wait(lock, stop, is_urgent);
        } else {
            changed_.wait_until(lock, stop, round, is_urgent);
        }
        urgent_ = false;
        lock.unlock();
        const auto now = std::chrono::steady_clock::now();
        attend(now >= round);
        round = now >= round ? now + times_.renewal : round;
        lock.lock();
    }
}

} // namespace berth::session
