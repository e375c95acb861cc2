#include "tools/session_info.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"
#include "tools/session_report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

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

SessionInfo::Machine ask_machine(Context& context)
{
    return with_sandbox(context, [&](sandbox::Sandbox& sandbox) {
        SessionInfo::Machine machine{sandbox.info(context.stop), sandbox.machine().layers()};
        sandbox.tell_host_pause(machine.info);
        add_guest_layers(machine);
        return machine;
    });
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
    auto facts = context.sessions.facts(context.session);
    if (!facts.trouble.empty()) {
        context.told.notices.push_back("the registry of sessions cannot be asked now (" +
                                       visible(facts.trouble) +
                                       "): its part of this is as this server last knew it");
    }
    // Without a machine: the limits that one would have here.
    Machine machine;
    // Only of a machine that is there: asking must not make one.
    if (facts.state == "running") {
        machine = ask_machine(context);
        if (machine.info.pause && machine.info.pause->paused) {
            facts.state = "paused"; // to ask does not wake it
        }
    } else {
        auto& backend = context.sessions.backend();
        machine.layers = backend.limit_layers();
        if (const auto availability = backend.availability(); !availability.available) {
            machine.can_be_made = false;
            facts.why = "no sandbox can be made here now: " + availability.reason +
                        (availability.remedy.empty() ? "" : "; " + availability.remedy);
        }
    }
    return render(facts, machine, context.settings);
}

Result SessionInfo::render(const session::SessionFacts& facts, const Machine& machine,
                           const Settings& settings)
{
    return {session_text(facts, machine, &settings), session_data(facts, machine, &settings)};
}

} // namespace berth::tools
