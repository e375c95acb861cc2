#include "sandbox/local/doctor.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/sandbox.hpp"

#include <algorithm>
#include <exception>
#include <stop_token>
#include <string>
#include <utility>

namespace berth::local {
namespace {

/// A bash script that tries to get past a layer and prints "held" when it could not.
struct Probe {
    const char* layer;
    const char* attempt;
    std::string script;
};

std::vector<Probe> probes()
{
    return {
        {"userns", "used a capability: chroot, mount",
         "chroot / true || mount -t tmpfs x /tmp || echo held"},
        {"nested-userns", "made another user namespace", "unshare -U true || echo held"},
        {"pidns", "looked for the host's first process",
         "tr '\\0' ' ' </proc/1/cmdline | grep -q '^berth-guest ' && echo held"},
        {"mountns", "wrote to the host's programs", "touch /usr/berth-doctor || echo held"},
        {"netns", "looked for a network besides loopback",
         "[ \"$(grep -c : /proc/net/dev)\" = 1 ] && echo held"},
        {"seccomp", "took the guest's descriptors away",
         "prlimit --pid 1 --nofile=0:0 || echo held"},
        {"guest", "read the guest's memory and environment",
         "cat /proc/1/environ /proc/1/mem || echo held"},
        {"proc-masks", "read kernel memory and pressed keys through /proc",
         // The cover is /dev/null, and whoever writes to that presses no key.
         "[ \"$(cat /proc/kcore /proc/kallsyms | wc -c)\" = 0 ] && "
         "{ [ \"$(stat -c %t:%T /proc/sysrq-trigger)\" = 1:3 ] || "
         "! (echo h >/proc/sysrq-trigger); } && echo held"},
        {"cgroup-pids", "started more processes than allowed",
         // Held when a fork is refused, not when few processes are left: a bash that cannot fork
         // tries for half a minute, or ends with the first child that does. Nothing is executed:
         // on a slow machine two hundred programs take longer than the time there is.
         "mkfifo /tmp/doctor && timeout 15 sh -c "
         "'for i in $(seq 200); do (: </tmp/doctor) & done' 2>&1 >/dev/null | "
         "grep -q fork && echo held"},
        {"cgroup-memory", "used more memory than allowed",
         "(head -c 400M /dev/zero | tail -c 400M | wc -c) | grep -q 419430400 || echo held"},
    };
}

sandbox::MachineSpec throw_away_spec()
{
    sandbox::MachineSpec spec;
    spec.key_hash = random_hex(32);
    spec.session = "doctor";
    spec.generation = random_hex(16);
    spec.token = random_hex(16);
    spec.ends_with_server = true;
    spec.limits.memory = 128ULL << 20U;
    spec.limits.pids = 100;
    return spec;
}

std::string run(sandbox::Sandbox& sandbox, const std::string& script)
{
    protocol::ExecuteRequest request;
    request.id = random_hex(16);
    request.command = "exec 2>/dev/null; " + script;
    request.timeout = 20'000;
    request.on_exit = protocol::OnExit::kill;
    request.head_limit = 4096;
    request.tail_limit = 4096;
    return sandbox.execute(request, std::stop_token()).out.head;
}

Check try_probe(sandbox::Sandbox& sandbox, const Probe& probe)
{
    Check check{probe.layer, false, std::string("tried: ") + probe.attempt, {}};
    try {
        check.ok = run(sandbox, probe.script).ends_with("held\n");
        check.detail += check.ok ? "; refused" : "; it worked";
    } catch (const std::exception& error) {
        check.detail += std::string("; could not be tried: ") + error.what();
    }
    return check;
}

bool is_cgroup(const std::string& layer)
{
    return layer.starts_with("cgroup-");
}

std::vector<Check> try_layers(sandbox::Machine& machine, sandbox::Sandbox& sandbox)
{
    std::vector<Check> checks;
    const auto attempts = probes();
    for (const auto& layer : machine.layers()) {
        const auto probe = std::find_if(attempts.begin(), attempts.end(),
                                        [&](const Probe& p) { return layer.name == p.layer; });
        if (layer.in_force && probe != attempts.end()) {
            checks.push_back(try_probe(sandbox, *probe));
        } else {
            checks.push_back({layer.name, layer.in_force, layer.detail,
                              !layer.in_force && is_cgroup(layer.name) ? cgroup_remedy() : ""});
        }
    }
    for (const auto& probe : attempts) {
        const auto& layers = machine.layers();
        if (std::none_of(layers.begin(), layers.end(),
                         [&](const sandbox::Layer& layer) { return layer.name == probe.layer; })) {
            checks.push_back(try_probe(sandbox, probe));
        }
    }
    return checks;
}

} // namespace

std::vector<Check> run_doctor(sandbox::Backend& backend)
{
    const auto availability = backend.availability();
    std::vector<Check> checks{
        {"sandbox", availability.available,
         availability.available ? "a sandbox can be made here" : availability.reason,
         availability.remedy}};
    if (!availability.available) {
        return checks;
    }
    try {
        const auto spec = throw_away_spec();
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
        checks.push_back({"create", false, error.what(), error.hint()});
    } catch (const std::exception& error) {
        checks.push_back({"create", false, error.what(), {}});
    }
    return checks;
}

} // namespace berth::local
