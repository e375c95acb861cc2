#include "sandbox/guest/leases.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest {

Leases::Leases(EventLoop& loop, Ended ended) : loop_(loop), ended_(std::move(ended)) {}

Leases::~Leases()
{
    for (const auto& [server, timer] : timers_) {
        loop_.cancel(timer);
    }
}

void Leases::set(const std::string& server, std::chrono::milliseconds time)
{
    if (time <= std::chrono::milliseconds(0)) {
        end(server);
        return;
    }
    if (!holds(server) && timers_.size() >= most) {
        throw Error(ErrorCode::busy, "too many servers are at this sandbox",
                    "wait for some of them to leave");
    }
    const auto bounded = std::min<std::chrono::milliseconds>(time, longest);
    auto& timer = timers_[server];
    loop_.cancel(timer);
    timer = loop_.call_awake(bounded, [this, server] { end(server); });
}

void Leases::end(const std::string& server)
{
    const auto found = timers_.find(server);
    if (found == timers_.end()) {
        return;
    }
    loop_.cancel(found->second);
    timers_.erase(found);
    ended_(server);
}

} // namespace berth::guest
