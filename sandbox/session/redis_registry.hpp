#pragma once

#include "sandbox/session/redis_times.hpp"
#include "sandbox/session/redis_url.hpp"
#include "sandbox/session/registry.hpp"

#include <memory>
#include <string>

namespace berth::session {

/// The books in a Redis (5 or later, or what speaks as one), for servers of several hosts. Nothing
/// is asked of it before the first call. Every call throws Error(sandbox_unavailable) that names
/// the address where Redis does not do what it must, after three seconds at most; touch() only
/// notes, and never waits. put() and erase() throw Error(busy) when the lock is ours no more.
///
/// `owner`: who holds the locks, for people.
[[nodiscard]] std::unique_ptr<Registry> make_redis_registry(const RedisAddress& address,
                                                            const std::string& owner,
                                                            const RedisTimes& times = {});

} // namespace berth::session
