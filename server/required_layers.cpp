#include "server/required_layers.hpp"

#include "sandbox/base/error.hpp"
#include "server/cli/reports.hpp"

#include <algorithm>
#include <utility>

namespace berth::server {
namespace {

constexpr std::chrono::minutes found_holds{1};
constexpr std::chrono::seconds failure_holds{5};

} // namespace

void require_known_layers(const Options& options, const Composition& composition)
{
    if (options.required_layers.empty()) {
        return;
    }
    const auto known = composition.layers(options);
    for (const auto& layer : options.required_layers) {
        if (std::ranges::find(known, layer) == known.end()) {
            throw Error(ErrorCode::invalid_argument,
                        "--require: there is no layer \"" + layer + '"',
                        "`berth doctor` shows the name of each.");
        }
    }
}

void insist(const Options& options, const std::vector<Check>& checks)
{
    const auto missing = cli::missing_layers(options.required_layers, checks);
    if (!missing.empty()) {
        throw Error(ErrorCode::sandbox_unavailable, "--require: not in force:" + missing,
                    "`berth doctor` shows every layer.");
    }
}

void RequiredLayers::insist(const Options& options, sandbox::Backend& backend)
{
    if (options.required_layers.empty()) {
        return;
    }
    require_known_layers(options, composition_);
    const auto at = look_of(options);
    const std::lock_guard lock(at->looking);
    if (Clock::now() >= at->until) {
        look(*at, options, backend);
    }
    if (at->failed) {
        throw Error(*at->failed);
    }
    server::insist(options, at->checks);
}

std::shared_ptr<RequiredLayers::Look> RequiredLayers::look_of(const Options& options)
{
    const std::lock_guard lock(mutex_);
    auto& at = looks_[{options.backend, options.sessions.network, options.sessions.template_name}];
    if (!at) {
        at = std::make_shared<Look>();
    }
    return at;
}

/// With at.looking held.
void RequiredLayers::look(Look& at, const Options& options, sandbox::Backend& backend) const
{
    at.failed.reset();
    try {
        if (const auto availability = backend.availability(); !availability.available) {
            throw Error(ErrorCode::sandbox_unavailable,
                        "--require: no sandbox can be made: " + availability.reason,
                        availability.remedy);
        }
        at.checks = composition_.examine(options, backend);
        const bool all_hold = cli::missing_layers(options.required_layers, at.checks).empty();
        at.until = Clock::now() + (all_hold ? Clock::duration(found_holds) : failure_holds);
    } catch (const Error& error) {
        at.failed = error;
        at.until = Clock::now() + failure_holds;
    }
}

} // namespace berth::server
