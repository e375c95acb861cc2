#include "sandbox/session/redis_books.hpp"

#include "sandbox/base/host_time.hpp"
#include "sandbox/session/machine_marks.hpp"
#include "sandbox/session/record_codec.hpp"
#include "sandbox/session/redis_scripts.hpp"

#include <exception>
#include <new>
#include <utility>

namespace berth::session {
namespace {

std::string mark_in(const RedisEntry& entry)
{
    try {
        return machine_mark(decode_record(entry.record));
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception&) {
        return {}; // damaged: nobody knows of a machine
    }
}

} // namespace

std::string machine_mark(const Record& record)
{
    return has_no_machine(record) ? std::string() : principal_tag(record.id.principal);
}

RedisFound found_in(const std::vector<RedisReply>& answer)
{
    RedisFound found;
    found.damaged = answer.at(0).text == "damaged";
    if (answer.at(0).text == "found") {
        found.entry = {.record = answer.at(1).text,
                       .token = answer.at(2).text,
                       .last_used = answer.at(3).text,
                       .keep = answer.at(4).text,
                       .revision = answer.at(5).text,
                       .used = answer.at(6).text};
    }
    return found;
}

std::vector<RedisReply> RedisBooks::run(RedisClient& client, std::string_view script,
                                        std::vector<std::string> keys,
                                        std::vector<std::string> arguments, std::string* generation)
{
    const auto guarded = redis_scripts::guarded(script);
    keys.insert(keys.begin(), redis_keys::generation);
    arguments.insert(arguments.begin(), std::string());
    // A Redis that is restarted between all of these will be met by the call that comes next.
    constexpr int rounds = 5;
    for (int round = 0; round < rounds; ++round) {
        {
            const std::lock_guard lock(mutex_);
            arguments.front() = generation_;
        }
        auto answer = client.run(guarded, keys, arguments).items;
        const auto found = answer.empty() ? std::string() : answer.front().text;
        if (!found.empty() && found == arguments.front()) {
            if (generation != nullptr) {
                *generation = found;
            }
            answer.erase(answer.begin());
            return answer;
        }
        if (found.empty()) {
            client.mark_generation(); // emptied under our connection
        } else {
            meet(client, found);
        }
    }
    throw Error(
        Error(ErrorCode::sandbox_unavailable,
              "the registry " + client.address().shown() + " loses its data again and again",
              "Call again when Redis is well.")
            .set_retryable(true));
}

void RedisBooks::remember(const std::string& key, RedisEntry entry, const std::string& generation)
{
    const std::lock_guard lock(mutex_);
    remembered_.insert_or_assign(key, std::move(entry));
    ++changes_;
    if (generation_ != generation) {
        generation_.clear(); // another thread has met that without this
    }
}

void RedisBooks::forget(const std::string& key)
{
    const std::lock_guard lock(mutex_);
    remembered_.erase(key);
}

bool RedisBooks::empty() const
{
    const std::lock_guard lock(mutex_);
    return remembered_.empty();
}

std::string RedisBooks::revision_of(const std::string& key) const
{
    const std::lock_guard lock(mutex_);
    const auto found = remembered_.find(key);
    return found == remembered_.end() ? std::string() : found->second.revision;
}

void RedisBooks::touch(RedisClient& client, const std::string& key)
{
    const auto now = to_text(HostTime::now());
    std::string generation;
    const auto answer = run(client, redis_scripts::touch, {redis_keys::record(key)},
                            {revision_of(key), now}, &generation);
    if (answer.at(0).text == "none") {
        forget(key); // others have purged it
    } else if (auto found = found_in(answer); found.entry) {
        remember(key, *std::move(found.entry), generation);
    } else if (answer.at(0).text == "same") {
        const std::lock_guard lock(mutex_);
        const auto entry = remembered_.find(key);
        if (entry != remembered_.end()) {
            entry->second.last_used = answer.at(1).text;
            entry->second.used = now;
        }
    }
}

void RedisBooks::look(RedisClient& client)
{
    (void)run(client, redis_scripts::look, {}, {});
}

/// The data set is another than the one that we have written to, or the same without its latest
/// changes.
void RedisBooks::meet(RedisClient& client, std::string generation)
{
    const std::lock_guard meeting(meeting_);
    for (;;) {
        std::map<std::string, RedisEntry> remembered;
        std::uint64_t changes = 0;
        {
            const std::lock_guard lock(mutex_);
            if (generation_ == generation) {
                return; // another thread has met it
            }
            remembered = remembered_;
            changes = changes_;
        }
        for (const auto& [key, entry] : remembered) {
            write_again(client, generation, key, entry);
        }
        const std::lock_guard lock(mutex_);
        if (changes_ == changes) { // else what came meanwhile went to the one before
            generation_ = std::move(generation);
            return;
        }
    }
}

void RedisBooks::write_again(RedisClient& client, const std::string& generation,
                             const std::string& key, const RedisEntry& entry)
{
    const auto answer =
        client.run(redis_scripts::guarded(redis_scripts::write_again),
                   {redis_keys::generation, redis_keys::record(key), redis_keys::index,
                    redis_keys::purged(key), redis_keys::machines},
                   {generation, key, entry.record, entry.token, entry.last_used, entry.keep,
                    entry.revision, entry.used, mark_in(entry)});
    if (answer.items.size() == 2 && answer.items[1].text == "purged") {
        forget(key);
    }
}

} // namespace berth::session
