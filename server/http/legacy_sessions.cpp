#include "server/http/legacy_sessions.hpp"

#include "sandbox/base/random.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth::server::http {

LegacyOwner owner_of(const Caller& caller)
{
    LegacyOwner owner{.principal = caller.principal, .settings = caller.settings};
    owner.settings.erase("session.max_per_principal");
    return owner;
}

LegacySession::LegacySession(LegacyOwner owner, std::shared_ptr<Tenant> tenant,
                             rpc::WorkerPool& pool)
    : owner_(std::move(owner)), tenant_(std::move(tenant)),
      connection_(tenant_->application().service()),
      dispatcher_(connection_, nullptr, pool, tenant_->application().options().rpc)
{
}

std::string LegacySessions::make_id()
{
    constexpr std::size_t bytes = 16;
    return random_hex(bytes);
}

std::shared_ptr<LegacySession> LegacySessions::add(const std::string& id, const LegacyOwner& owner,
                                                   std::shared_ptr<Tenant> tenant)
{
    auto session = std::make_shared<LegacySession>(owner, std::move(tenant), pool_);
    std::shared_ptr<LegacySession> ended; // outside of the lock: its end may wait
    const std::lock_guard lock(mutex_);
    ended = take_oldest_of(owner.principal);
    places_[id] = {.session = session, .used = Clock::now()};
    return session;
}

/// Under mutex_: that of the principal's that was not asked anything for longest, one with calls
/// last of all: they would be stopped, and its end waited for. The end: none of them may.
LegacySessions::Places::iterator LegacySessions::oldest_of(const std::string& principal,
                                                           Condition may_end)
{
    auto oldest = places_.end();
    std::pair<bool, Clock::time_point> lowest;
    for (auto each = places_.begin(); each != places_.end(); ++each) {
        const auto& session = each->second.session;
        if (session->owner().principal != principal || !may_end(session)) {
            continue;
        }
        const std::pair rank(session->has_calls(), each->second.used);
        if (oldest == places_.end() || rank < lowest) {
            oldest = each;
            lowest = rank;
        }
    }
    return oldest;
}

/// Where there are too many; under mutex_.
std::shared_ptr<LegacySession> LegacySessions::take_oldest_of(const std::string& principal)
{
    const auto count = std::count_if(places_.begin(), places_.end(), [&](const auto& each) {
        return each.second.session->owner().principal == principal;
    });
    if (static_cast<std::size_t>(count) < most_per_principal) {
        return nullptr;
    }
    const auto oldest = oldest_of(principal, [](const auto&) { return true; });
    auto taken = std::move(oldest->second.session);
    places_.erase(oldest);
    taken->dispatcher().stop();
    return taken;
}

bool LegacySessions::end_idle_of(const std::string& principal)
{
    std::shared_ptr<LegacySession> ended; // outside the lock
    const std::lock_guard lock(mutex_);
    const auto oldest = oldest_of(principal, [](const auto& session) {
        return session.use_count() == 1 && session->is_last_of_tenant();
    });
    if (oldest == places_.end() || oldest->second.session->has_calls()) {
        return false;
    }
    ended = std::move(oldest->second.session);
    places_.erase(oldest);
    return true;
}

std::shared_ptr<LegacySession> LegacySessions::find(const std::string& id, const LegacyOwner& owner)
{
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(id);
    if (found == places_.end() || found->second.session->owner() != owner) {
        return nullptr;
    }
    found->second.used = Clock::now();
    found->second.leaves = false;
    return found->second.session;
}

bool LegacySessions::end(const std::string& id, const LegacyOwner& owner)
{
    std::shared_ptr<LegacySession> ended;
    {
        const std::lock_guard lock(mutex_);
        const auto found = places_.find(id);
        if (found == places_.end() || found->second.session->owner() != owner) {
            return false;
        }
        ended = std::move(found->second.session);
        places_.erase(found);
    }
    ended->dispatcher().stop();
    return true;
}

void LegacySessions::leave(const LegacyOwner& owner)
{
    const std::lock_guard lock(mutex_);
    for (auto& [id, place] : places_) {
        place.leaves = place.leaves || place.session->owner() == owner;
    }
}

void LegacySessions::sweep()
{
    std::vector<std::shared_ptr<LegacySession>> ended;
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (auto each = places_.begin(); each != places_.end();) {
        auto& place = each->second;
        // A call that goes on is a use of it, also where its client has gone: it may come back and
        // cancel it.
        const bool calls = place.session->has_calls();
        if (calls) {
            place.used = now;
        }
        if (now - place.used > idle_ || (place.leaves && !calls)) {
            ended.push_back(std::move(place.session));
            each = places_.erase(each);
        } else {
            ++each;
        }
    }
}

void LegacySessions::stop_calls()
{
    const std::lock_guard lock(mutex_);
    for (const auto& [id, place] : places_) {
        place.session->dispatcher().stop();
    }
}

std::size_t LegacySessions::count()
{
    const std::lock_guard lock(mutex_);
    return places_.size();
}

} // namespace berth::server::http
