#include "sandbox/spec_for_guest.hpp"

#include <algorithm>
#include <cstdint>

namespace berth::sandbox {
namespace {

std::uint64_t count_of(std::chrono::milliseconds time)
{
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()));
}

} // namespace

protocol::GuestConfig config_for_guest(const MachineSpec& spec)
{
    protocol::GuestConfig config;
    config.token = spec.token;
    config.generation = spec.generation;
    config.session = spec.session;
    config.path_policy = spec.path_policy;
    config.spill_stream_limit = spec.limits.spill_stream;
    config.spill_session_limit = spec.limits.spill_session;
    config.max_calls = spec.limits.calls;
    config.max_jobs = spec.limits.jobs;
    config.quota = spec.limits.quota;
    config.limit_nofile = spec.limits.nofile;
    config.idle_end = count_of(spec.idle_end);
    config.idle_pause = count_of(spec.idle_pause);
    config.on_disconnect = spec.on_disconnect;
    return config;
}

} // namespace berth::sandbox
