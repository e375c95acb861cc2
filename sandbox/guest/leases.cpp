#include "sandbox/guest/leases.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest {

Leases::Leases(EventLoop& loop, Ended ended) : loop_(loop), ended_(std::move(ended)) {}

Leases::~Leases()
{
    for (const auto& [server, lease] : leases_) {
        loop_.cancel(lease.timer);
    }
}

void Leases::set(const std::string& server, std::chrono::milliseconds time)
{
    if (time <= std::chrono::milliseconds(0)) {
        end(server);
        return;
    }
    if (!holds(server) && leases_.size() >= most) {
        make_room();
    }
    const auto bounded = std::min<std::chrono::milliseconds>(time, longest);
    auto& lease = leases_[server];
    loop_.cancel(lease.timer);
    lease = {.timer = loop_.call_awake(bounded, [this, server] { end(server); }), .said = ++said_};
}

void Leases::make_room()
{
    const auto oldest =
        std::ranges::min_element(leases_, {}, [](const auto& entry) { return entry.second.said; });
    end(std::string(oldest->first));
}

void Leases::end(const std::string& server)
{
    const auto found = leases_.find(server);
    if (found == leases_.end()) {
        return;
    }
    loop_.cancel(found->second.timer);
    leases_.erase(found);
    ended_(server);
}

} // namespace berth::guest
