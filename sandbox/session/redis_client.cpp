#include "sandbox/session/redis_client.hpp"

#include "sandbox/base/random.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/redis_scripts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace berth::session {
namespace {

constexpr std::size_t shown_bytes = 200;

/// The number that a Redis gives to each of its starts; empty where it does not tell.
std::string run_in(const RedisReply& information)
{
    constexpr std::string_view name = "run_id:";
    const std::string& text = information.text;
    const auto begin = text.find(name);
    if (information.kind != RedisReply::Kind::text || begin == std::string::npos) {
        return {};
    }
    const auto start = begin + name.size();
    return text.substr(start, text.find_first_of("\r\n", start) - start);
}

std::string first_word(const std::string& text)
{
    return text.substr(0, text.find(' '));
}

bool is_about_rights(const std::string& word)
{
    constexpr std::array<std::string_view, 3> words{"NOAUTH", "WRONGPASS", "NOPERM"};
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Before Redis 7 the error of a command is within that of the script.
bool tells(const std::string& answer, std::string_view word)
{
    return first_word(answer) == word ||
           answer.find(": " + std::string(word) + ' ') != std::string::npos;
}

/// What is to be done about an error of a Redis that lets us in.
std::string remedy_of(const std::string& answer)
{
    if (tells(answer, "READONLY")) {
        return "The address leads to a replica, which cannot be written to: give that of the "
               "primary (--registry, BERTH_REGISTRY).";
    }
    if (tells(answer, "OOM")) {
        return "Its memory is full: raise its `maxmemory`, or remove what else is in it.";
    }
    if (tells(answer, "MISCONF")) {
        return "It cannot save to its disk, and takes nothing until it can: its log says why.";
    }
    if (tells(answer, "LOADING") || tells(answer, "BUSY")) {
        return "Call again in a moment.";
    }
    return "What Redis says there is about itself; call again when it is well.";
}

std::vector<std::string> evaluation(std::string_view script, const std::vector<std::string>& keys,
                                    const std::vector<std::string>& arguments)
{
    std::vector<std::string> words{"EVAL", std::string(script), std::to_string(keys.size())};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
}

} // namespace

RedisClient::RedisClient(RedisAddress address, RedisTimes times)
    : address_(std::move(address)), times_(times)
{
}

Error RedisClient::unreachable(const std::string& why) const
{
    return Error(ErrorCode::sandbox_unavailable,
                 "the registry " + address_.shown() + " cannot be reached: " + why,
                 "Calls on sessions that this server already has go on; this one needs the "
                 "registry. See that a Redis answers at that address, or give another one "
                 "(--registry, BERTH_REGISTRY); then call again.")
        .set_retryable(true);
}

/// Whoever may not come in today may not tomorrow.
Error RedisClient::refused(const std::string& why) const
{
    return Error(ErrorCode::sandbox_unavailable,
                 "the registry " + address_.shown() + " refuses this server: " + why,
                 "Give a user and password that may do everything to keys of the form berth:*, "
                 "as redis://[USER[:PASSWORD]@]HOST (BERTH_REGISTRY).")
        .set_retryable(false);
}

RedisReply RedisClient::checked(RedisReply reply) const
{
    if (reply.kind != RedisReply::Kind::error) {
        return reply;
    }
    const auto said = visible_beginning(reply.text, shown_bytes, " ...");
    if (is_about_rights(first_word(reply.text))) {
        throw refused(said);
    }
    throw Error(
        Error(ErrorCode::sandbox_unavailable,
              "the registry " + address_.shown() + " cannot be used now: " + said,
              "Calls on sessions that this server already has go on. " + remedy_of(reply.text))
            .set_retryable(true));
}

/// On a connection that was just made.
void RedisClient::introduce()
{
    if (!address_.password.empty() || !address_.user.empty()) {
        std::vector<std::string> words{"AUTH"};
        if (!address_.user.empty()) {
            words.push_back(address_.user);
        }
        words.push_back(address_.password);
        const auto reply = connection_->command(words);
        if (reply.kind == RedisReply::Kind::error) {
            // A word of its answer alone: the rest may quote what was sent.
            throw refused("it does not take this user and password (" +
                          visible(first_word(reply.text)) + ")");
        }
    }
    if (address_.database != 0) {
        select();
    }
    arrive();
}

void RedisClient::select()
{
    const auto number = std::to_string(address_.database);
    const auto reply = connection_->command({"SELECT", number});
    if (reply.kind == RedisReply::Kind::error &&
        reply.text.find("out of range") != std::string::npos) {
        // Its number of databases stays what it is until it is started anew.
        throw Error(Error(ErrorCode::sandbox_unavailable,
                          "the registry " + address_.shown() + " has no database " + number + " (" +
                              visible_beginning(reply.text, shown_bytes, " ...") + ')',
                          "Give one that it has in the address (--registry, BERTH_REGISTRY): 0 to "
                          "15, unless its `databases` says otherwise.")
                        .set_retryable(false));
    }
    (void)checked(reply);
}

void RedisClient::arrive()
{
    // Who may not ask gets no number, and goes by the mark alone.
    const auto run = run_in(connection_->command({"INFO", "server"}));
    (void)checked(connection_->command(evaluation(
        redis_scripts::arrive, {redis_keys::generation, redis_keys::settling, redis_keys::run},
        {run, random_hex(16), std::to_string(times_.settling.count())})));
}

/// Under mutex_.
RedisReply RedisClient::converse(const std::vector<std::string>& words)
{
    if (!connection_ && BootClock::now() < rested_) {
        throw unreachable(trouble_);
    }
    for (;;) {
        const bool reused = connection_ != nullptr;
        try {
            if (!reused) {
                connection_ = std::make_unique<RedisConnection>(address_, times_);
                introduce();
            }
            auto reply = connection_->command(words);
            if (reply.kind == RedisReply::Kind::error && tells(reply.text, "READONLY")) {
                connection_.reset(); // it is no primary any more; its name may lead to another now
            }
            return checked(std::move(reply));
        } catch (const RedisBroken& broken) {
            connection_.reset();
            if (reused && !broken.timed_out()) {
                continue; // Redis was restarted since it was last used
            }
            trouble_ = broken.what();
            rested_ = BootClock::now() + times_.rest;
            throw unreachable(trouble_);
        } catch (const Error&) {
            if (!reused) {
                connection_.reset(); // perhaps not introduced
            }
            throw;
        } catch (...) { // no memory: an answer may still come, and would be taken for the next one
            connection_.reset();
            throw;
        }
    }
}

RedisReply RedisClient::run(std::string_view script, const std::vector<std::string>& keys,
                            const std::vector<std::string>& arguments)
{
    const std::lock_guard lock(mutex_);
    return converse(evaluation(script, keys, arguments));
}

void RedisClient::mark_generation()
{
    const std::lock_guard lock(mutex_);
    (void)converse({"PING"});
    try {
        arrive();
    } catch (const RedisBroken& broken) {
        connection_.reset();
        throw unreachable(broken.what());
    }
}

} // namespace berth::session
