#include "server/http/tenants.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/session/side_by_side.hpp"
#include "server/http/legacy_sessions.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::server::http {
namespace {

constexpr std::chrono::seconds sweep_interval{1};
/// So many new names a second, once there are too many.
constexpr std::size_t most_leaving = 64;

} // namespace

Tenant::Tenant(std::unique_ptr<Application> application, rpc::WorkerPool& pool)
    : application_(std::move(application)), connection_(application_->service()),
      dispatcher_(connection_, nullptr, pool, application_->options().rpc)
{
}

Tenants::Tenants(Make make, rpc::WorkerPool& pool, std::chrono::milliseconds idle)
    : make_(std::move(make)), pool_(pool), idle_(idle),
      sweeper_([this](const std::stop_token& stop) { sweep(stop); })
{
}

Tenants::~Tenants()
{
    sweeper_.request_stop();
    sweeper_.join();
}

std::shared_ptr<Tenant> Tenants::get(const Caller& caller, const std::string& session)
{
    std::shared_ptr<Place> place;
    {
        const std::lock_guard lock(mutex_);
        const Key key{caller.principal, caller.settings, session};
        const auto known = places_.find(key);
        if (known == places_.end() || known->second->leaves) {
            make_room(caller.principal);
        }
        auto& found = places_[key];
        if (!found) {
            found = std::make_shared<Place>();
        }
        found->used = Clock::now();
        found->leaves = false;
        place = found;
    }
    // Only those who call the same session wait for it to be made.
    const std::lock_guard making(place->making);
    if (!place->tenant) {
        place->tenant = std::make_shared<Tenant>(make_(caller, session), pool_);
    }
    return place->tenant;
}

/// Under mutex_: whether nobody makes it, has a request of it, or a session of an older client.
bool Tenants::is_free(const std::shared_ptr<Place>& place)
{
    if (place.use_count() != 1) {
        return false;
    }
    const std::unique_lock making(place->making, std::try_to_lock);
    return making && place->tenant.use_count() <= 1;
}

/// Under mutex_.
void Tenants::make_room(const std::string& principal)
{
    std::size_t count = 0;
    std::size_t leaving = 0;
    auto oldest = places_.end();
    for (auto each = places_.lower_bound({principal, {}, {}});
         each != places_.end() && std::get<0>(each->first) == principal; ++each) {
        if (each->second->leaves) {
            leaving += is_free(each->second) ? 1U : 0U;
            continue; // one for each that comes, however many come before the sweeper
        }
        ++count;
        if (is_free(each->second) &&
            (oldest == places_.end() || last_use(*each->second) < last_use(*oldest->second))) {
            oldest = each;
        }
    }
    if (count < most_per_principal) {
        return;
    }
    if (leaving >= most_leaving) {
        throw Error(ErrorCode::busy,
                    std::to_string(leaving) + " sessions of this principal are being left",
                    "Try again in a second.");
    }
    if (oldest == places_.end()) {
        throw AllHeld(ErrorCode::busy,
                      std::to_string(count) + " sessions of this principal have calls",
                      "Try again when some calls are answered.");
    }
    oldest->second->leaves = true; // the sweeper takes it
}

void Tenants::leave(const Caller& caller)
{
    const auto owner = owner_of(caller);
    const std::lock_guard lock(mutex_);
    for (auto each = places_.lower_bound({caller.principal, {}, {}});
         each != places_.end() && std::get<0>(each->first) == caller.principal; ++each) {
        const auto& settings = std::get<1>(each->first);
        // Also under a number of sessions that an entry of the caller's had before.
        if (owner_of({.principal = caller.principal, .settings = settings}) == owner) {
            each->second->leaves = true; // the sweeper takes it
        }
    }
}

/// Of one that is_free().
Tenants::Clock::time_point Tenants::last_use(const Place& place)
{
    return place.tenant ? std::max(place.used, place.tenant->last_use()) : place.used;
}

/// From their places to leaving_.
std::vector<std::shared_ptr<Tenant>> Tenants::take_idle()
{
    std::vector<std::shared_ptr<Tenant>> idle;
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (auto each = places_.begin(); each != places_.end();) {
        auto& place = *each->second;
        if (is_free(each->second) && (place.leaves || now - last_use(place) > idle_)) {
            if (place.tenant) {
                idle.push_back(place.tenant);
                leaving_.push_back(std::move(place.tenant));
            }
            each = places_.erase(each);
        } else {
            ++each;
        }
    }
    return idle;
}

/// Of leaving_, but those that all() has given out: whoever has them may not wait for their end.
void Tenants::drop_left()
{
    std::vector<std::shared_ptr<Tenant>> left; // ends outside of the lock
    const std::lock_guard lock(mutex_);
    const auto gone = std::partition(leaving_.begin(), leaving_.end(),
                                     [](const auto& each) { return each.use_count() > 1; });
    left.assign(std::make_move_iterator(gone), std::make_move_iterator(leaving_.end()));
    leaving_.erase(gone, leaving_.end());
}

/// They are left outside of the lock: that may take as long as their machines.
void Tenants::sweep(const std::stop_token& stop)
{
    std::mutex mutex;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
        stopping_.wait_for(lock, stop, sweep_interval, [] { return false; });
        auto idle = take_idle();
        session::side_by_side(idle.size(),
                              [&](std::size_t i) { idle[i]->application().sessions().close(); });
        idle.clear();
        drop_left();
    }
}

std::vector<std::shared_ptr<Tenant>> Tenants::all()
{
    std::vector<std::shared_ptr<Place>> places;
    std::vector<std::shared_ptr<Tenant>> found;
    {
        const std::lock_guard lock(mutex_);
        found = leaving_;
        for (const auto& [key, place] : places_) {
            places.push_back(place);
        }
    }
    for (const auto& place : places) {
        const std::unique_lock making(place->making, std::try_to_lock); // else it has no call yet
        if (making && place->tenant) {
            found.push_back(place->tenant);
        }
    }
    return found;
}

void Tenants::for_each(const std::function<void(Tenant&)>& visit)
{
    for (const auto& tenant : all()) {
        visit(*tenant);
    }
}

std::size_t Tenants::count()
{
    const std::lock_guard lock(mutex_);
    return places_.size();
}

} // namespace berth::server::http
