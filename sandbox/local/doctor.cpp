#include "sandbox/local/doctor.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/local/doctor_probes.hpp"
#include "sandbox/local/home_limit.hpp"
#include "sandbox/local/layers.hpp"
#include "sandbox/local/local_errors.hpp"
#include "sandbox/sandbox.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <stop_token>
#include <string>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* sandbox_check = "sandbox";
constexpr const char* limits_check = "rlimits";
constexpr const char* attempts_check = "attempts";

sandbox::MachineSpec throw_away_spec(sandbox::Network network, const std::string& template_name)
{
    sandbox::MachineSpec spec;
    spec.key_hash = random_hex(32);
    spec.session = "doctor";
    spec.generation = random_hex(16);
    spec.token = random_hex(16);
    spec.ends_with_server = true;
    spec.network = network;
    spec.template_name = template_name;
    spec.limits.memory = 128ULL << 20U;
    spec.limits.pids = 100;
    spec.limits.quota = 16ULL << 20U;
    return spec;
}

/// Whether a launcher of this process is bound by it: it raises what it may (launcher/rlimits.cpp).
bool is_bound(__rlimit_resource_t resource)
{
    rlimit before{};
    if (::getrlimit(resource, &before) != 0 || before.rlim_max == RLIM_INFINITY) {
        return false;
    }
    const rlimit raised{.rlim_cur = before.rlim_cur, .rlim_max = RLIM_INFINITY};
    return ::setrlimit(resource, &raised) != 0 || ::setrlimit(resource, &before) != 0;
}

/// A session's guest is one process that may live for days.
Check check_limits()
{
    struct Limit {
        __rlimit_resource_t resource;
        const char* flag;
        const char* what;
    };

    constexpr std::array limits{Limit{RLIMIT_CPU, "-t", "seconds of processor time"},
                                Limit{RLIMIT_AS, "-v", "address space"},
                                Limit{RLIMIT_DATA, "-d", "memory for data"},
                                Limit{RLIMIT_FSIZE, "-f", "size of a file"}};
    Check check{
        limits_check, true, "no hard limit of this shell or user bounds a sandbox's guest", {}};
    for (const auto& [resource, flag, what] : limits) {
        if (is_bound(resource)) {
            check.detail =
                check.ok ? "hard limits of this shell or user are those of a sandbox's guest and "
                           "commands, too, and one that is used up ends it: "
                         : check.detail + ", ";
            check.detail += std::string(what) + " (ulimit -H " + flag + ")";
            check.remedy = "raise them in the shell that starts berth, in "
                           "/etc/security/limits.conf, or in the service's unit (LimitCPU=, "
                           "LimitAS=, LimitDATA=, LimitFSIZE=)";
            check.ok = false;
        }
    }
    return check;
}

std::string run(sandbox::Sandbox& sandbox, const std::string& script)
{
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = script;
    request.timeout = 20'000;
    request.on_exit = protocol::OnExit::kill;
    request.head_limit = 4096;
    request.tail_limit = 4096;
    return sandbox.execute(request, std::stop_token()).out.head;
}

/// What the attempts came to. One that works gets past a layer that is said to be in force: that is
/// worse than a layer that this host does not have, of which whoever runs berth is told.
struct Attempts {
    std::vector<Check> checks;
    std::vector<std::string> worked; ///< the layers that did not hold

    [[nodiscard]] Check outcome() const
    {
        if (worked.empty()) {
            return {attempts_check, true, "none got past what is in force", {}};
        }
        return {attempts_check, false, "got past what is said to be in force: " + joined(worked),
                "run nothing here that you do not trust, and report it: SECURITY.md says how"};
    }
};

void try_probe(sandbox::Sandbox& sandbox, const Probe& probe, Attempts& attempts)
{
    Check check{probe.layer, false, std::string("tried: ") + probe.attempt, {}};
    try {
        const std::string said = run(sandbox, probe.script);
        check.ok = said.ends_with("held\n");
        const bool untried = said.ends_with("untried\n");
        if (!check.ok && !untried) {
            attempts.worked.emplace_back(probe.layer);
        }
        check.detail += check.ok  ? "; refused"
                        : untried ? "; could not be tried: a program for it is missing in the "
                                    "sandbox"
                                  : "; it worked";
    } catch (const std::exception& error) {
        check.detail += std::string("; could not be tried: ") + error.what();
    }
    attempts.checks.push_back(std::move(check));
}

/// Not what the kernel itself lacks: nothing that the operator delegates would bring it.
bool needs_cgroups(const sandbox::Layer& layer)
{
    return !layer.in_force && layer.name.starts_with("cgroup-") &&
           layer.detail != kernel_lacks_limit;
}

/// What would bring a layer that is not in force; empty: nothing that is known.
std::string remedy_for(const sandbox::Layer& layer, const sandbox::MachineRecord& record)
{
    if (needs_cgroups(layer)) {
        return cgroup_remedy("", ::geteuid());
    }
    const auto state = record.data.find("state");
    if (!layer.in_force && layer.name == "quota" && state != record.data.end()) {
        return home_limit_remedy(state->second);
    }
    return {};
}

std::vector<Check> try_layers(sandbox::Machine& machine, sandbox::Sandbox& sandbox)
{
    Attempts attempts;
    const auto probes = doctor_probes();
    for (const auto& layer : machine.layers()) {
        const auto probe = std::find_if(probes.begin(), probes.end(),
                                        [&](const Probe& p) { return layer.name == p.layer; });
        if (layer.in_force && probe != probes.end()) {
            try_probe(sandbox, *probe, attempts);
        } else {
            attempts.checks.push_back(
                {layer.name, layer.in_force, layer.detail, remedy_for(layer, machine.record())});
        }
    }
    for (const auto& probe : probes) {
        const auto& layers = machine.layers();
        if (std::none_of(layers.begin(), layers.end(),
                         [&](const sandbox::Layer& layer) { return layer.name == probe.layer; })) {
            try_probe(sandbox, probe, attempts);
        }
    }
    attempts.checks.push_back(attempts.outcome());
    return attempts.checks;
}

} // namespace

std::vector<std::string> check_names()
{
    std::vector<std::string> names{sandbox_check, limits_check, attempts_check};
    for (const auto& layer : layers_of({}, {}, {}, {}, {})) {
        names.push_back(layer.name);
    }
    for (const auto& probe : doctor_probes()) {
        if (std::find(names.begin(), names.end(), probe.layer) == names.end()) {
            names.emplace_back(probe.layer);
        }
    }
    return names;
}

std::vector<Check> run_doctor(sandbox::Backend& backend, sandbox::Network network,
                              const std::string& template_name)
{
    const auto availability = backend.availability();
    std::vector<Check> checks{
        {sandbox_check, availability.available,
         availability.available ? "a sandbox can be made here" : availability.reason,
         availability.remedy}};
    if (!availability.available) {
        return checks;
    }
    checks.push_back(check_limits());
    try {
        const auto spec = throw_away_spec(network, template_name);
        auto machine = backend.create(spec);
        const auto record = machine->record();
        try {
            auto& made = *machine;
            sandbox::Sandbox sandbox(std::move(machine), spec.token);
            const auto tried = try_layers(made, sandbox);
            checks.insert(checks.end(), tried.begin(), tried.end());
        } catch (const std::exception& error) {
            checks.push_back({"guest", false, error.what(), {}});
        }
        backend.destroy(record, /*purge=*/true);
    } catch (const Error& error) {
        const auto& hint = error.hint();
        checks.push_back({"create", false, error.what(), hint == ask_doctor ? "" : hint});
    } catch (const std::exception& error) {
        checks.push_back({"create", false, error.what(), {}});
    }
    return checks;
}

} // namespace berth::local
