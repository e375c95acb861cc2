#include "tools/session_info.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"
#include "tools/session_report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace berth::tools {
namespace {

/// What the guest enforces beside what the machine was made with.
void add_guest_layers(SessionInfo::Machine& machine)
{
    for (const auto& name : machine.info.layers) {
        const bool known = std::any_of(machine.layers.begin(), machine.layers.end(),
                                       [&](const auto& layer) { return layer.name == name; });
        if (!known) {
            machine.layers.push_back({name, true, ""});
        }
    }
}

/// What could not be seen, and why: what is told of it else is no guess.
void tell_gaps(Context& context, const session::Sight& sight)
{
    if (const auto& trouble = sight.facts.trouble; !trouble.empty()) {
        context.told.notices.push_back("the registry of sessions cannot be asked now (" +
                                       visible(trouble) +
                                       "): its part of this is as this server last knew it");
    }
    const auto& silence = sight.trouble.empty() ? sight.facts.silence : sight.trouble;
    if (!silence.empty()) {
        context.told.notices.push_back("the sandbox could not be looked into now (" +
                                       visible(silence) +
                                       "): whether it sleeps, its working directory and what runs "
                                       "there are not known, and the "
                                       "rest is as the books have it");
    }
}

} // namespace

std::span<const Alias> SessionInfo::aliases()
{
    return {};
}

SessionInfo::Args SessionInfo::decode(const nlohmann::json& arguments)
{
    Decoder in(arguments);
    in.finish();
    return {};
}

std::string SessionInfo::describe(const Settings& /*settings*/, sandbox::Backend& /*backend*/)
{
    return "Tells about this session: its sandbox and whether that runs, working directory, what "
           "runs in the background, limits in force, what isolates it, network, and when it pauses "
           "and ends. Starts and wakes nothing.\n\nExample: {}";
}

Result SessionInfo::run(Context& context, const Args& /*args*/)
{
    auto sight = context.sessions.look(context.session);
    tell_gaps(context, sight);
    auto& facts = sight.facts;
    Machine machine;
    if (facts.state == "running" || facts.state == "paused") {
        machine = {std::move(sight.info), std::move(sight.layers)};
        add_guest_layers(machine);
    } else { // the limits that one would have here
        auto& backend = context.sessions.backend();
        machine.layers = backend.limit_layers();
        if (const auto availability = backend.availability(); !availability.available) {
            machine.can_be_made = false;
            facts.why = "no sandbox can be made here now: " + availability.reason +
                        (availability.remedy.empty() ? "" : "; " + availability.remedy);
        }
    }
    auto result = render(facts, machine, context.settings);
    result.receipt = std::move(sight.shown);
    return result;
}

Result SessionInfo::render(const session::SessionFacts& facts, const Machine& machine,
                           const Settings& settings)
{
    return {session_text(facts, machine, &settings), session_data(facts, machine, &settings)};
}

} // namespace berth::tools
