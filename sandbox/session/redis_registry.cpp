#include "sandbox/session/redis_registry.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/key.hpp"
#include "sandbox/session/machine_marks.hpp"
#include "sandbox/session/record_codec.hpp"
#include "sandbox/session/redis_books.hpp"
#include "sandbox/session/redis_client.hpp"
#include "sandbox/session/redis_scripts.hpp"
#include "sandbox/session/redis_upkeep.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

namespace berth::session {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t max_record = 1UL << 20U;
constexpr std::size_t nonce_size = 32;

/// Who waits for a lock asks again after so long.
constexpr milliseconds first_pause{2};
constexpr milliseconds longest_pause{50};

std::string text_of(milliseconds duration)
{
    return std::to_string(duration.count());
}

std::string seconds_of(std::chrono::system_clock::time_point time)
{
    return std::to_string(std::chrono::system_clock::to_time_t(time));
}

std::chrono::system_clock::time_point time_in(const std::string& seconds)
{
    std::time_t number = 0;
    const auto* const end = seconds.data() + seconds.size();
    const auto [read, error] = std::from_chars(seconds.data(), end, number);
    if (error != std::errc() || read != end) {
        throw std::runtime_error("it is damaged: its time of last use is none");
    }
    return std::chrono::system_clock::from_time_t(number);
}

/// "EPOCH NONCE OWNER" as people are told of it.
std::string owner_in(const std::string& lock)
{
    const auto nonce = lock.find(' ');
    const auto owner = nonce == std::string::npos ? nonce : lock.find(' ', nonce + 1);
    constexpr std::size_t most = 200;
    return owner == std::string::npos ? "another server"
                                      : visible_beginning(lock.substr(owner + 1), most);
}

std::string seconds_after(milliseconds time)
{
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count());
}

/// `state`, `told`: what the script `lock` answers. A holder that lives renews it, and one that is
/// dead or stands still loses it.
Error locked(const std::string& state, const std::string& told, milliseconds expiry)
{
    const auto again = "try again in a few seconds";
    if (state == "settling") {
        return Error(ErrorCode::busy,
                     "the registry was restarted a moment ago, and its servers write again what "
                     "they know",
                     again)
            .with_detail("retry_after", seconds_after(milliseconds(std::stoll(told))));
    }
    return Error(ErrorCode::busy,
                 "the session is being made or ended by another server (" + owner_in(told) + ")",
                 again)
        .with_detail("retry_after", seconds_after(expiry));
}

class RedisRegistry : public Registry {
  public:
    RedisRegistry(const RedisAddress& address, std::string owner, const RedisTimes& times)
        : owner_(std::move(owner)), times_(times), client_(address, times),
          upkeep_(address, times, books_)
    {
    }

    [[nodiscard]] bool is_shared() const noexcept override { return true; }

    std::unique_ptr<Hold> lock(const std::string& key, const Deadline& deadline) override;
    std::unique_ptr<Hold> claim(const std::string& key) override;
    std::unique_ptr<Hold> claim_of_dead(const std::string& key) override;
    std::optional<milliseconds> silent_claim(const std::string& key) override;
    std::optional<milliseconds> settling() override;
    std::optional<Record> find(const std::string& key) override;
    void put(const std::string& key, const Record& record) override;
    void erase(const std::string& key) override;
    bool was_erased(const std::string& key) override;
    void touch(const std::string& key) noexcept override;
    std::vector<std::string> keys() override;
    std::vector<std::string> may_have_machine() override;
    std::vector<std::string> may_be_of(const std::string& principal,
                                       const std::vector<std::string>& keys) override;

    /// Locks and claims expire by themselves.
    std::vector<std::string> abandoned() override { return {}; }

  private:
    class Held;

    [[nodiscard]] std::unique_ptr<Hold> hold(const std::string& key,
                                             const std::shared_ptr<RedisHeld>& held, bool is_lock);
    void release(const std::string& key, const std::shared_ptr<RedisHeld>& held) noexcept;
    [[nodiscard]] std::map<std::string, std::string> machines();
    void mark(const std::string& key);
    [[nodiscard]] std::string lock_on(const std::string& key);
    [[nodiscard]] Error lock_lost() const;
    [[nodiscard]] Record read(const std::string& key, const RedisEntry& entry) const;
    [[nodiscard]] DamagedRecord damaged(const std::string& key, const std::string& why) const;

    std::vector<RedisReply> run(std::string_view script, std::vector<std::string> keys,
                                std::vector<std::string> arguments,
                                std::string* generation = nullptr)
    {
        return books_.run(client_, script, std::move(keys), std::move(arguments), generation);
    }

    const std::string owner_;
    const RedisTimes times_;
    RedisClient client_;
    RedisBooks books_;
    RedisUpkeep upkeep_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<RedisHeld>> locks_; ///< by key; guarded by mutex_
};

class RedisRegistry::Held : public Registry::Hold {
  public:
    Held(RedisRegistry& registry, std::string key, std::shared_ptr<RedisHeld> held)
        : registry_(registry), key_(std::move(key)), held_(std::move(held))
    {
    }

    ~Held() override { registry_.release(key_, held_); }

    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    [[nodiscard]] bool holds() const noexcept override { return held_->holds(); }

  private:
    RedisRegistry& registry_;
    std::string key_;
    std::shared_ptr<RedisHeld> held_;
};

std::unique_ptr<Registry::Hold>
RedisRegistry::hold(const std::string& key, const std::shared_ptr<RedisHeld>& held, bool is_lock)
{
    auto result = std::make_unique<Held>(*this, key, held);
    upkeep_.keep(held);
    if (is_lock) {
        const std::lock_guard lock(mutex_);
        locks_.insert_or_assign(key, held);
    }
    return result;
}

void RedisRegistry::release(const std::string& key, const std::shared_ptr<RedisHeld>& held) noexcept
{
    {
        const std::lock_guard lock(mutex_);
        const auto found = locks_.find(key);
        // One that lapsed may have been given to another thread of ours since.
        if (found != locks_.end() && found->second == held) {
            locks_.erase(found);
        }
    }
    upkeep_.drop(held);
    held->release(client_);
}

std::unique_ptr<Registry::Hold> RedisRegistry::lock(const std::string& key,
                                                    const Deadline& deadline)
{
    const auto nonce = random_hex(nonce_size / 2);
    auto pause = first_pause;
    for (;;) {
        const auto begun = BootClock::now();
        const auto answer = run(redis_scripts::lock,
                                {redis_keys::settling, redis_keys::lock(key), redis_keys::epoch},
                                {nonce, owner_, text_of(times_.lock), text_of(times_.settling)});
        const auto& state = answer.at(0).text;
        if (state == "held") {
            return hold(key,
                        std::make_shared<RedisHeld>(redis_keys::lock(key), answer.at(1).text,
                                                    times_.lock, false, begun),
                        true);
        }
        if (deadline.expired()) {
            throw locked(state, answer.at(1).text, times_.lock);
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, longest_pause);
    }
}

std::unique_ptr<Registry::Hold> RedisRegistry::claim(const std::string& key)
{
    const auto value = random_hex(nonce_size / 2) + ' ' + owner_;
    const auto begun = BootClock::now();
    const auto answer = run(redis_scripts::claim,
                            {redis_keys::settling, redis_keys::claim(key), redis_keys::record(key)},
                            {value, text_of(times_.claim)});
    if (answer.at(0).text != "held") {
        return nullptr;
    }
    return hold(
        key, std::make_shared<RedisHeld>(redis_keys::claim(key), value, times_.claim, true, begun),
        false);
}

std::unique_ptr<Registry::Hold> RedisRegistry::claim_of_dead(const std::string& key)
{
    const auto value = random_hex(nonce_size / 2) + ' ' + owner_;
    const auto begun = BootClock::now();
    (void)run(redis_scripts::take_claim, {redis_keys::claim(key)}, {value, text_of(times_.claim)});
    return hold(
        key, std::make_shared<RedisHeld>(redis_keys::claim(key), value, times_.claim, true, begun),
        false);
}

std::optional<milliseconds> RedisRegistry::silent_claim(const std::string& key)
{
    // More than a loaded host makes it wait.
    constexpr int missed = 3;
    const auto answer = run(redis_scripts::claim_rest, {redis_keys::claim(key)}, {});
    const milliseconds rest(std::stoll(answer.at(0).text));
    return rest < milliseconds(0) || rest > times_.claim - missed * times_.renewal
               ? std::nullopt
               : std::optional(rest);
}

std::optional<milliseconds> RedisRegistry::settling()
{
    const auto answer = run(redis_scripts::settling_rest, {redis_keys::settling}, {});
    const milliseconds rest(std::stoll(answer.at(0).text));
    // Longer than any that was given it is after a clock that was set back, until the next lock.
    return rest < milliseconds(0) ? std::nullopt : std::optional(std::min(rest, times_.settling));
}

DamagedRecord RedisRegistry::damaged(const std::string& key, const std::string& why) const
{
    return {ErrorCode::backend_error,
            "the session's record " + redis_keys::record(key) + " in " + client_.address().shown() +
                " cannot be used: " + why,
            "end the session with `berth sessions kill " + key +
                "`: the files in its home are kept, and with --purge deleted"};
}

Record RedisRegistry::read(const std::string& key, const RedisEntry& entry) const
{
    try {
        if (entry.record.size() > max_record) {
            throw std::length_error("it is too large");
        }
        Record record = decode_record(entry.record);
        record.machine.data["key_hash"] = key; // no record speaks for another session's machine
        record.token = entry.token;
        record.last_used = time_in(entry.last_used);
        record.used = host_time_from(entry.used);
        return record;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        throw damaged(key, error.what());
    }
}

std::optional<Record> RedisRegistry::find(const std::string& key)
{
    upkeep_.note_now(client_, key);
    const auto found = found_in(run(redis_scripts::find, {redis_keys::record(key)}, {}));
    if (found.damaged) {
        throw damaged(key, "it is damaged: a part of it is missing, or it is of another kind");
    }
    return found.entry ? std::optional(read(key, *found.entry)) : std::nullopt;
}

Error RedisRegistry::lock_lost() const
{
    return Error(ErrorCode::busy,
                 "the right to make or end the session's sandbox has passed to another server: "
                 "the registry " +
                     client_.address().shown() + " has lost it, or not heard of this server for " +
                     text_of(times_.lock) + " ms",
                 "Try again: the call takes what the other server has made.")
        .set_retryable(true);
}

/// What is written under it. Throws when it is ours no more.
std::string RedisRegistry::lock_on(const std::string& key)
{
    const std::lock_guard lock(mutex_);
    const auto found = locks_.find(key);
    if (found == locks_.end() || !found->second->holds()) {
        throw lock_lost();
    }
    return found->second->value();
}

void RedisRegistry::put(const std::string& key, const Record& record)
{
    const auto lock = lock_on(key);
    upkeep_.note_now(client_, key);
    const auto ttl = record.made_with ? record.made_with->ttl : Conditions().ttl;
    RedisEntry entry{.record = encode(record),
                     .token = record.token,
                     .last_used = seconds_of(record.last_used),
                     .keep = text_of(ttl + (record.place ? times_.keep : times_.keep_far)),
                     .revision = {},
                     .used = record.used ? to_text(*record.used) : std::string()};
    std::string generation;
    const auto answer = run(redis_scripts::put,
                            {redis_keys::lock(key), redis_keys::record(key), redis_keys::index,
                             redis_keys::purged(key), redis_keys::machines},
                            {lock, key, entry.record, entry.token, entry.last_used, entry.keep,
                             entry.used, machine_mark(record)},
                            &generation);
    if (answer.at(0).text != "written") {
        throw lock_lost();
    }
    entry.last_used = answer.at(1).text;
    entry.used = answer.at(2).text;
    entry.revision = answer.at(3).text;
    books_.remember(key, std::move(entry), generation);
    upkeep_.watch();
}

void RedisRegistry::erase(const std::string& key)
{
    const auto answer = run(redis_scripts::erase,
                            {redis_keys::lock(key), redis_keys::record(key), redis_keys::index,
                             redis_keys::purged(key), redis_keys::machines},
                            {lock_on(key), key, text_of(times_.purged)});
    if (answer.at(0).text != "gone") {
        throw lock_lost();
    }
    books_.forget(key);
}

bool RedisRegistry::was_erased(const std::string& key)
{
    return run(redis_scripts::was_erased, {redis_keys::purged(key)}, {}).at(0).text == "erased";
}

void RedisRegistry::touch(const std::string& key) noexcept
{
    try {
        upkeep_.note_use(key);
    } catch (const std::exception&) {
        return; // one note less
    }
}

std::vector<std::string> RedisRegistry::keys()
{
    const auto answer = run(redis_scripts::list, {redis_keys::index, redis_keys::machines},
                            {redis_keys::record_prefix});
    std::vector<std::string> found;
    for (const auto& item : answer.at(0).items) {
        // Whoever writes to that Redis would have a collector, which may be root, make and remove
        // what "../.." leads to.
        if (is_key(item.text)) {
            found.push_back(item.text);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// By key whose they are.
std::map<std::string, std::string> RedisRegistry::machines()
{
    const auto answer = run(redis_scripts::machines, {redis_keys::machines}, {});
    const auto& items = answer.at(0).items;
    std::map<std::string, std::string> found;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
        found.emplace(items[i].text, items[i + 1].text);
    }
    return found;
}

/// Meanwhile a machine may end, whose mark is then one too many; one that is made has its own.
void RedisRegistry::mark(const std::string& key)
{
    try {
        if (const auto record = find(key); record && !has_no_machine(*record)) {
            (void)run(redis_scripts::mark, {redis_keys::machines}, {key, machine_mark(*record)});
        }
    } catch (const DamagedRecord&) {
        return; // nobody knows of a machine
    }
}

std::vector<std::string> RedisRegistry::may_have_machine()
{
    auto marked = machines();
    if (marked.erase(redis_keys::machines_complete) == 0) {
        // Once for data that have it not: Redis has lost all, and servers write again what they
        // know, or they are of a berth that marked nothing.
        for (const auto& key : keys()) {
            mark(key);
        }
        (void)run(redis_scripts::mark, {redis_keys::machines},
                  {redis_keys::machines_complete, "yes"});
        marked = machines();
        marked.erase(redis_keys::machines_complete);
    }
    std::vector<std::string> found;
    for (const auto& [key, owner] : marked) {
        if (is_key(key)) { // as keys()
            found.push_back(key);
        }
    }
    return found;
}

std::vector<std::string> RedisRegistry::may_be_of(const std::string& principal,
                                                  const std::vector<std::string>& keys)
{
    const auto marked = machines();
    const auto tag = principal_tag(principal);
    std::vector<std::string> found;
    std::copy_if(keys.begin(), keys.end(), std::back_inserter(found), [&](const std::string& key) {
        const auto mark = marked.find(key);
        return mark == marked.end() || mark->second == tag;
    });
    return found;
}

} // namespace

std::unique_ptr<Registry> make_redis_registry(const RedisAddress& address, const std::string& owner,
                                              const RedisTimes& times)
{
    return std::make_unique<RedisRegistry>(address, owner, times);
}

} // namespace berth::session
