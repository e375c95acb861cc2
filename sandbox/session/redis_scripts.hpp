#pragma once

#include <string>
#include <string_view>

// What is done in Redis, each of it at once. docs/adr/0015-redis-registry.md has the reasons.

namespace berth::session::redis_keys {

/// Of the data set; see RedisClient::mark_generation().
inline constexpr const char* generation = "berth:generation";
/// Of which start of Redis that generation is.
inline constexpr const char* run = "berth:run";
/// Is there for a while after each restart.
inline constexpr const char* settling = "berth:settling";
/// Counts creation locks.
inline constexpr const char* epoch = "berth:epoch";
/// A set: the keys of all sessions that have a record.
inline constexpr const char* index = "berth:sessions";

/// A hash: of each session that has a machine its key, and whose it is (principal_tag()); of others
/// too, whose records tell. Complete where `machines_complete` is in it: it went with all data.
inline constexpr const char* machines = "berth:machines";
inline constexpr const char* machines_complete = "complete";

inline constexpr const char* record_prefix = "berth:record:";

inline std::string record(const std::string& key)
{
    return record_prefix + key;
}

inline std::string lock(const std::string& key)
{
    return "berth:lock:" + key;
}

inline std::string claim(const std::string& key)
{
    return "berth:claim:" + key;
}

/// Is there for a while after a session was purged.
inline std::string purged(const std::string& key)
{
    return "berth:purged:" + key;
}

} // namespace berth::session::redis_keys

/// Each but `arrive`, `renew` and `release` is run as guarded(), and so answers a list that begins
/// with the generation of the data set.
namespace berth::session::redis_scripts {

/// Before the script: it is run only where ARGV[1] is the generation of the data set, which is at
/// KEYS[1]; else that is the whole answer.
inline std::string guarded(std::string_view script)
{
    constexpr std::string_view guard = R"lua(
local generation = redis.call('GET', KEYS[1]) or ''
if generation ~= ARGV[1] then return {generation} end)lua";
    return std::string(guard) + std::string(script);
}

/// KEYS: generation, settling, run. ARGV: this start of Redis, a new generation, how long to
/// settle.
inline constexpr std::string_view arrive = R"lua(
local generation = redis.call('GET', KEYS[1])
if generation and redis.call('GET', KEYS[3]) == ARGV[1] then return generation end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[3], ARGV[1])
redis.call('SET', KEYS[2], 1, 'PX', ARGV[3])
return ARGV[2]
)lua";

inline constexpr std::string_view look = R"lua(
return {generation}
)lua";

/// KEYS: …, settling, lock, epoch. ARGV: …, nonce, owner, expiry, how long to settle.
/// Answers "held" with the lock, "settling" with the milliseconds that it lasts, or "other" with
/// who has it. A time to live that is longer than any that was given comes of a clock that was set
/// back.
inline constexpr std::string_view lock = R"lua(
local rest = redis.call('PTTL', KEYS[2])
if rest > tonumber(ARGV[5]) then redis.call('PEXPIRE', KEYS[2], ARGV[5]) end
if rest >= 0 then return {generation, 'settling', tostring(math.min(rest, tonumber(ARGV[5])))} end
local held = redis.call('GET', KEYS[3])
if held and not string.find(held, ARGV[2], 1, true) then
  if redis.call('PTTL', KEYS[3]) > tonumber(ARGV[4]) then
    redis.call('PEXPIRE', KEYS[3], ARGV[4])
  end
  return {generation, 'other', held}
end
held = held or redis.call('INCR', KEYS[4]) .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]
redis.call('SET', KEYS[3], held, 'PX', ARGV[4])
return {generation, 'held', held}
)lua";

/// KEYS: …, settling. Answers for how many milliseconds it lasts; less than 0: it is over.
inline constexpr std::string_view settling_rest = R"lua(
return {generation, tostring(redis.call('PTTL', KEYS[2]))}
)lua";

/// KEYS: …, settling, claim, record. ARGV: …, claim, expiry. Answers "held" or "other". While Redis
/// settles, whoever is in the books may be back in a moment.
inline constexpr std::string_view claim = R"lua(
local held = redis.call('GET', KEYS[3])
if held and held ~= ARGV[2] then
  if redis.call('PTTL', KEYS[3]) > tonumber(ARGV[3]) then
    redis.call('PEXPIRE', KEYS[3], ARGV[3])
  end
  return {generation, 'other'}
end
if redis.call('EXISTS', KEYS[2], KEYS[4]) == 2 then return {generation, 'other'} end
redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
return {generation, 'held'}
)lua";

/// KEYS: …, claim. ARGV: …, claim, expiry. Whoever has it is dead.
inline constexpr std::string_view take_claim = R"lua(
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return {generation, 'held'}
)lua";

/// KEYS: …, claim. Answers in how many milliseconds it lapses; less than 0: there is none.
inline constexpr std::string_view claim_rest = R"lua(
return {generation, tostring(redis.call('PTTL', KEYS[2]))}
)lua";

/// KEYS: lock or claim. ARGV: what is held, expiry, whether it is taken anew when it is gone.
/// Answers 1 when it is held. What is there needs no SET, which a Redis without memory refuses.
inline constexpr std::string_view renew = R"lua(
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if held or ARGV[3] ~= 'anew' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
)lua";

/// KEYS: lock or claim. ARGV: what is held.
inline constexpr std::string_view release = R"lua(
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
)lua";

/// KEYS: …, record. Answers "none", "damaged", or "found" with record, token, time of last use, how
/// long it is kept, revision, and the time of last use by the host's clock: of a record of an
/// earlier release that is empty.
inline constexpr std::string_view find = R"lua(
local kind = redis.call('TYPE', KEYS[2]).ok
if kind == 'none' then return {generation, 'none'} end
if kind ~= 'hash' then return {generation, 'damaged'} end
local fields = redis.call('HMGET', KEYS[2], 'record', 'token', 'last_used', 'keep', 'revision')
for i = 1, 5 do if not fields[i] then return {generation, 'damaged'} end end
fields[6] = redis.call('HGET', KEYS[2], 'used') or ''
return {generation, 'found', unpack(fields)}
)lua";

/// KEYS: …, lock, record, index, purged, machines. ARGV: …, lock, session, record, token, time of
/// last use, how long it is kept, time of last use by the host's clock, whose it is in `machines`
/// (empty: it has none). Answers "lost", or "written" with both times of last use, of those that
/// are noted and written the later ones, and revision: microseconds of Redis's clock, so that later
/// ones are greater across a loss of data too.
inline constexpr std::string_view put = R"lua(
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return {generation, 'lost'} end
if redis.call('TYPE', KEYS[3]).ok ~= 'hash' then redis.call('DEL', KEYS[3]) end
local time = redis.call('TIME')
local revision = time[1] * 1000000 + time[2]
local before = tonumber(redis.call('HGET', KEYS[3], 'revision') or '') or 0
if before >= revision then revision = before + 1 end
revision = string.format('%.0f', revision)
local used = tonumber(ARGV[6])
local noted = tonumber(redis.call('HGET', KEYS[3], 'last_used') or '') or 0
used = string.format('%.0f', math.max(used, noted))
local boot, up = string.match(ARGV[8], '^(%S+) (%d+) ')
local host = redis.call('HGET', KEYS[3], 'used') or ''
local noted_boot, noted_up = string.match(host, '^(%S+) (%d+) ')
if boot and (boot ~= noted_boot or tonumber(up) > tonumber(noted_up)) then host = ARGV[8] end
redis.call('HSET', KEYS[3], 'record', ARGV[4], 'token', ARGV[5], 'last_used', used,
  'keep', ARGV[7], 'revision', revision, 'used', host)
redis.call('PEXPIRE', KEYS[3], ARGV[7])
redis.call('SADD', KEYS[4], ARGV[3])
redis.call('DEL', KEYS[5])
if ARGV[9] == '' then redis.call('HDEL', KEYS[6], ARGV[3])
else redis.call('HSET', KEYS[6], ARGV[3], ARGV[9]) end
return {generation, 'written', used, host, revision}
)lua";

/// KEYS: …, record. ARGV: …, revision that is remembered, now by the host's clock. Answers "none",
/// "same" with the time of last use, or as `find`. A
/// Redis without memory keeps the record for longer all the same, and the time of its last use as
/// it was; a replica refuses both.
inline constexpr std::string_view touch = R"lua(
local kind = redis.call('TYPE', KEYS[2]).ok
if kind == 'none' then return {generation, 'none'} end
if kind ~= 'hash' then return {generation, 'damaged'} end
local keep = redis.call('HGET', KEYS[2], 'keep')
if keep then redis.call('PEXPIRE', KEYS[2], keep) end
redis.pcall('HSET', KEYS[2], 'last_used', redis.call('TIME')[1], 'used', ARGV[3])
local fields = redis.call('HMGET', KEYS[2], 'record', 'token', 'last_used', 'keep', 'revision')
for i = 1, 5 do if not fields[i] then return {generation, 'damaged'} end end
fields[6] = redis.call('HGET', KEYS[2], 'used') or ''
if fields[5] == ARGV[2] then return {generation, 'same', fields[3]} end
return {generation, 'found', unpack(fields)}
)lua";

/// KEYS: …, lock, record, index, purged, machines. ARGV: …, lock, session, how long that is
/// remembered. Answers "lost" or "gone".
inline constexpr std::string_view erase = R"lua(
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return {generation, 'lost'} end
if redis.call('DEL', KEYS[3]) == 1 then redis.call('SET', KEYS[5], 1, 'PX', ARGV[4]) end
redis.call('SREM', KEYS[4], ARGV[3])
redis.call('HDEL', KEYS[6], ARGV[3])
return {generation, 'gone'}
)lua";

/// KEYS: …, purged. Answers "erased" for as long as that is remembered.
inline constexpr std::string_view was_erased = R"lua(
return {generation, redis.call('EXISTS', KEYS[2]) == 1 and 'erased' or ''}
)lua";

/// KEYS: …, record, index, purged, machines. ARGV: …, session, record, token, time of last use, how
/// long it is kept, revision, time of last use by the host's clock, as `put` the last one. Writes
/// what was in the books before Redis was restarted, unless they have it, or something later.
/// Answers "written", "later" or "purged".
inline constexpr std::string_view write_again = R"lua(
if redis.call('EXISTS', KEYS[4]) == 1 then return {generation, 'purged'} end
if redis.call('TYPE', KEYS[2]).ok ~= 'hash' then redis.call('DEL', KEYS[2]) end
local there = tonumber(redis.call('HGET', KEYS[2], 'revision') or '') or 0
if there >= tonumber(ARGV[7]) then return {generation, 'later'} end
redis.call('HSET', KEYS[2], 'record', ARGV[3], 'token', ARGV[4], 'last_used', ARGV[5],
  'keep', ARGV[6], 'revision', ARGV[7], 'used', ARGV[8])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
redis.call('SADD', KEYS[3], ARGV[2])
if ARGV[9] == '' then redis.call('HDEL', KEYS[5], ARGV[2])
else redis.call('HSET', KEYS[5], ARGV[2], ARGV[9]) end
return {generation, 'written'}
)lua";

/// KEYS: …, machines. Answers a list: a session, whose it is, and so on.
inline constexpr std::string_view machines = R"lua(
return {generation, redis.call('HGETALL', KEYS[2])}
)lua";

/// KEYS: …, machines. ARGV: …, session, whose it is.
inline constexpr std::string_view mark = R"lua(
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
return {generation}
)lua";

/// KEYS: …, index, machines. ARGV: …, what a record's name begins with. Answers a list; what has
/// expired leaves both.
inline constexpr std::string_view list = R"lua(
local found = {}
for _, key in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if redis.call('EXISTS', ARGV[2] .. key) == 1 then
    found[#found + 1] = key
  else
    redis.call('SREM', KEYS[2], key)
    redis.call('HDEL', KEYS[3], key)
  end
end
return {generation, found}
)lua";

} // namespace berth::session::redis_scripts
