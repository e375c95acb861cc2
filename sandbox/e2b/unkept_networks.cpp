#include "sandbox/e2b/unkept_networks.hpp"

#include "sandbox/e2b/box_network.hpp"

#include <utility>

namespace berth::e2b {

NotKept::NotKept(const std::string& said)
    : Error(ErrorCode::backend_error,
            "E2B's server does not keep a sandbox from what it may not reach: " + said,
            "Nothing of this call was done. Tell the operator: the server at E2B_API_URL takes "
            "`network` and does not do it. Where commands may reach everything say so, with "
            "--network host; else use E2B's own service, or --backend local. It is looked at again "
            "after a minute.")
{
}

void UnkeptNetworks::require_not_seen(const BoxNetwork& network)
{
    const std::lock_guard lock(mutex_);
    std::erase_if(seen_,
                  [&](const auto& each) { return each.second.at + memory_ <= BootClock::now(); });
    if (const auto found = seen_.find(network_mark(network)); found != seen_.end()) {
        throw NotKept(found->second.error);
    }
}

void UnkeptNetworks::add(const BoxNetwork& network, const NotKept& error)
{
    const std::lock_guard lock(mutex_);
    seen_.insert_or_assign(network_mark(network), Seen{.at = BootClock::now(), .error = error});
}

} // namespace berth::e2b
