#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/e2b/api_types.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace berth::e2b {

/// What a sandbox has shown that its server does not do.
class NotKept : public Error {
  public:
    /// `said`: by the guest's program, of the place that answered.
    explicit NotKept(const std::string& said);
};

/// Which networks E2B's server does not keep a sandbox from: an agent that calls again and again
/// would have one made or woken for each call, to be found out anew. Thread-safe.
class UnkeptNetworks {
  public:
    /// By then the operator may have done something about it.
    explicit UnkeptNetworks(std::chrono::milliseconds memory) : memory_(memory) {}

    /// Throws what was said of it not longer ago.
    void require_not_seen(const BoxNetwork& network);

    void add(const BoxNetwork& network, const NotKept& error);

    /// Does something that may throw NotKept of that network.
    template <class Action>
    auto watch(const BoxNetwork& network, Action&& action)
    {
        try {
            return action();
        } catch (const NotKept& error) {
            add(network, error);
            throw;
        }
    }

  private:
    struct Seen {
        BootClock::time_point at;
        NotKept error;
    };

    const std::chrono::milliseconds memory_;
    std::mutex mutex_;
    std::map<std::string, Seen> seen_; ///< guarded; by the mark of each network
};

} // namespace berth::e2b
