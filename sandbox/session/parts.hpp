#pragma once

#include "sandbox/session/collector.hpp"
#include "sandbox/session/fact_finder.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/settings.hpp"

#include <cstdint>
#include <utility>

// Of the session manager alone.

namespace berth::session {

/// The settings of one time, and what works by them. None of it holds anything between calls, so
/// other settings are other parts: a call works to its end by those it began with.
struct Parts {
    Parts(Settings in_force, std::uint64_t which, sandbox::Backend& backend, Registry& registry)
        : settings(std::move(in_force)), version(which), keeper(settings, backend, registry),
          collector(settings, backend, registry, keeper),
          finder(settings, backend, registry, keeper)
    {
    }

    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

    const Settings settings;
    const std::uint64_t version; ///< later settings have a higher one
    MachineKeeper keeper;
    Collector collector;
    FactFinder finder;
};

} // namespace berth::session
