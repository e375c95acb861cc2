#include "tools/session_report.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/job_report.hpp"
#include "tools/pause_report.hpp"
#include "tools/quota_report.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <utility>

namespace berth::tools {
namespace {

using nlohmann::json;

constexpr std::string_view memory_layer = "cgroup-memory";
constexpr std::string_view cpu_layer = "cgroup-cpu";

/// 2 -> "2 CPUs", 0.5 -> "0.5 CPUs".
std::string cpus_text(double cpus)
{
    std::array<char, 32> buffer{};
    const int size = std::snprintf(buffer.data(), buffer.size(), "%g", cpus);
    const std::string number(buffer.data(), static_cast<std::size_t>(size));
    return number + (number == "1" ? " CPU" : " CPUs");
}

/// "name: value" on a line, nothing without a value.
std::string field(std::string_view name, const std::string& value)
{
    return value.empty() ? "" : std::string(name) + ": " + value + "\n";
}

/// A limit that only a cgroup can bring is as good as none without it.
std::string unless_in_force(const std::vector<sandbox::Layer>& layers, std::string_view name)
{
    return sandbox::is_missing(layers, name) ? " (not enforced here)" : "";
}

/// Which the host may cut.
sandbox::Limits limits_in_force(const session::SessionFacts& facts,
                                const SessionInfo::Machine& machine)
{
    auto limits = facts.limits;
    limits.nofile = machine.info.open_files.value_or(limits.nofile);
    return limits;
}

std::string limits_text(const sandbox::Limits& limits, const std::vector<sandbox::Layer>& layers,
                        const Settings* settings)
{
    const auto text =
        "memory " + limit_bytes(limits.memory) + unless_in_force(layers, memory_layer) + ", " +
        counted(limits.pids, "process") + ", " + cpus_text(limits.cpus) +
        unless_in_force(layers, cpu_layer) + ", " + counted(limits.nofile, "open file") + ", " +
        counted(limits.calls, "command") + " at once";
    return settings == nullptr
               ? text
               : text + ", timeout " + std::to_string(settings->exec_timeout.count()) +
                     " s (at most " + std::to_string(settings->exec_max_timeout.count()) + " s), " +
                     thousands(settings->output_budget) + " characters of output";
}

std::string layers_text(const std::vector<sandbox::Layer>& layers)
{
    std::string text;
    for (const auto& layer : layers) {
        text += (layer.in_force ? "  yes  " : "  NO   ") + layer.name +
                (layer.detail.empty() ? "" : ": " + visible(layer.detail)) + "\n";
    }
    return text.empty() ? text : "isolation:\n" + text;
}

std::string mounts_text(const std::vector<sandbox::Mount>& mounts)
{
    std::string text;
    for (const auto& mount : mounts) {
        text += (text.empty() ? "" : ", ") + visible(mount.target) +
                (mount.writable ? " (writable)" : " (read-only)");
    }
    return text;
}

/// What a filtered network is for, as the operator wrote it; empty of another.
std::string filter_text(const session::SessionFacts& facts)
{
    constexpr std::size_t most = 1000;
    if (facts.network != sandbox::Network::filtered) {
        return {};
    }
    std::string text = joined(facts.filter.allow);
    text += facts.filter.deny.empty() ? "" : "; never " + joined(facts.filter.deny);
    text += facts.filter.max_sent == 0
                ? ""
                : "; " + std::to_string(facts.filter.max_sent) + " bytes may be sent";
    text += facts.filter.secrets.empty()
                ? ""
                : "; put in by the proxy where a request has their placeholder: " +
                      joined(facts.filter.secrets);
    return visible_beginning(text, most, " …");
}

void add_filter(json& data, const session::SessionFacts& facts)
{
    if (facts.network == sandbox::Network::filtered) {
        data["filter"] = {
            {"allow", facts.filter.allow},         {"deny", facts.filter.deny},
            {"private", facts.filter.inner},       {"secret", facts.filter.secrets},
            {"intercept", facts.filter.intercept}, {"max_sent", facts.filter.max_sent}};
    }
}

std::string jobs_text(const std::vector<protocol::JobEntry>& jobs)
{
    std::string text;
    for (const auto& job : jobs) {
        text += "  " + job.job_id + "  " + job.status + ", " + counted(job.processes, "process") +
                ", " + human_duration(std::chrono::milliseconds(job.age)) +
                (job.remaining
                     ? ", stopped in " + rough_duration(std::chrono::milliseconds(*job.remaining)) +
                           " at the latest"
                     : "") +
                ": " + visible(job.command) + "\n";
    }
    return text.empty() ? text : "jobs:\n" + text;
}

/// An earlier guest says no more than the exit code, which is -1 where there is none.
std::string end_text(const protocol::JobEntry& job)
{
    if (job.not_run) {
        return "not run";
    }
    if (!job.exit_code) {
        return "ended";
    }
    const auto by = stopper_phrase(job.ended_by);
    const auto end = job.fate             ? ended_phrase(*job.fate, *job.exit_code, job.signal)
                     : *job.exit_code < 0 ? "stopped"
                                          : "exit " + std::to_string(*job.exit_code);
    return by.empty() ? end : end + ", " + by;
}

std::string ended_jobs_text(const std::vector<protocol::JobEntry>& jobs)
{
    std::string text;
    for (const auto& job : jobs) {
        text += "  " + job.job_id + "  " + end_text(job) + ", " +
                human_duration(std::chrono::milliseconds(job.age)) + ": " + visible(job.command) +
                "\n";
    }
    return text.empty() ? text : "ended jobs (bash_output shows them):\n" + text;
}

/// What the leaving of the last server changes comes before whatever the guest counts down to.
std::string pause_line(const session::SessionFacts& facts, const protocol::InfoReply& info)
{
    auto text = visible(pause_text(info));
    if (text.empty() || info.pause->paused) {
        return text;
    }
    if (facts.on_disconnect == protocol::OnDisconnect::now) {
        return text + "; paused, jobs or not, as soon as its last server leaves";
    }
    if (facts.on_disconnect == protocol::OnDisconnect::kill) {
        return text + "; it ends, jobs or not, as soon as its last server leaves";
    }
    // Nobody left: what the guest counts down to is that. No idle_pause: idleness never pauses.
    const bool when_left = facts.on_disconnect == protocol::OnDisconnect::idle &&
                           info.pause->clients > 0 && info.pause->idle_pause > 0;
    return when_left ? text + "; paused as soon as its last server has left and nothing runs"
                     : text;
}

/// What the sandbox of the facts was made with, or is made with now.
std::string made_with_text(const session::SessionFacts& facts, const SessionInfo::Machine& machine,
                           const Settings* settings)
{
    const bool last = facts.machine == session::ToldMachine::last;
    std::string text;
    if (settings != nullptr || facts.machine != session::ToldMachine::unknown) {
        const std::string indent = last ? "  " : "";
        const auto line = [&](std::string_view name, const std::string& value) {
            return value.empty() ? "" : indent + field(name, value);
        };
        text =
            (last ? "its last sandbox had:\n" : "") +
            line("network", std::string(sandbox::word_of(facts.network))) +
            line("reaches", filter_text(facts)) + line("template", visible(facts.template_name)) +
            line("mounts", mounts_text(facts.mounts)) +
            line("limits", limits_text(limits_in_force(facts, machine), machine.layers, settings));
    }
    return settings != nullptr || facts.machine == session::ToldMachine::present
               ? text
               : text + "network, mounts and limits of the next one come from the server whose "
                        "call makes it\n";
}

json limits_data(const sandbox::Limits& limits, const std::vector<sandbox::Layer>& layers,
                 const Settings* settings)
{
    json data = {
        {"memory_bytes", limits.memory},
        {"pids", limits.pids},
        {"cpus", limits.cpus},
        {"open_files", limits.nofile},
        {"concurrent_commands", limits.calls},
        {"jobs", limits.jobs},
        {"spill_stream_bytes", limits.spill_stream},
        {"spill_session_bytes", limits.spill_session},
    };
    if (settings != nullptr || !layers.empty()) {
        auto& missing = data["not_enforced"] = json::array();
        if (sandbox::is_missing(layers, memory_layer)) {
            missing.emplace_back("memory_bytes");
        }
        if (sandbox::is_missing(layers, cpu_layer)) {
            missing.emplace_back("cpus");
        }
    }
    if (settings != nullptr) {
        data.update({
            {"timeout_s", settings->exec_timeout.count()},
            {"max_timeout_s", settings->exec_max_timeout.count()},
            {"output_characters", settings->output_budget},
            {"job_timeout_s", settings->job_timeout.count()},
            {"job_max_timeout_s", settings->job_max_timeout.count()},
        });
    }
    return data;
}

void add_made_with(json& data, const session::SessionFacts& facts,
                   const SessionInfo::Machine& machine, const Settings* settings)
{
    auto mounts = json::array();
    for (const auto& mount : facts.mounts) {
        mounts.push_back({{"target", utf8::sanitize(mount.target)}, {"writable", mount.writable}});
    }
    data.update({
        {"network", sandbox::word_of(facts.network)},
        {"template", utf8::sanitize(facts.template_name)},
        {"mounts", std::move(mounts)},
        {"limits", limits_data(limits_in_force(facts, machine), machine.layers, settings)},
    });
    add_filter(data, facts);
    if (facts.on_disconnect) {
        data["on_disconnect"] = protocol::to_string(*facts.on_disconnect);
    }
}

/// A shell that was stopped has no exit code, which the guest gives as -1.
void add_exit_code(json& entry, const protocol::JobEntry& job)
{
    if (job.exit_code && *job.exit_code >= 0) {
        entry["exit_code"] = *job.exit_code;
    }
}

json jobs_data(const std::vector<protocol::JobEntry>& jobs)
{
    auto list = json::array();
    for (const auto& job : jobs) {
        auto& entry = list.emplace_back(json{{"job_id", job.job_id},
                                             {"command", utf8::sanitize(job.command)},
                                             {"status", job.status},
                                             {"processes", job.processes},
                                             {"age_ms", job.age},
                                             {"remaining_ms", job.remaining.value_or(0)}});
        add_exit_code(entry, job);
    }
    return list;
}

json ended_jobs_data(const std::vector<protocol::JobEntry>& jobs)
{
    auto list = json::array();
    for (const auto& job : jobs) {
        auto& entry = list.emplace_back(json{{"job_id", job.job_id},
                                             {"command", utf8::sanitize(job.command)},
                                             {"not_run", job.not_run},
                                             {"ended_by", utf8::sanitize(job.ended_by)},
                                             {"age_ms", job.age}});
        add_exit_code(entry, job);
        if (job.fate && !job.not_run) {
            entry["fate"] = fate_word(*job.fate);
        }
        if (job.signal > 0) {
            entry["signal"] = signal_name(job.signal);
        }
    }
    return list;
}

std::string headline(const session::SessionFacts& facts, const SessionInfo::Machine& machine)
{
    std::string text =
        "Session " + (facts.session.empty() ? "(unnamed)" : visible(facts.session)) + ": ";
    if (!machine.can_be_made) {
        return text + "no sandbox, and none can be made";
    }
    return text + (facts.state == "absent"
                       ? "no sandbox yet; the first call that needs one makes it"
                       : "sandbox " + facts.state);
}

} // namespace

std::string session_text(const session::SessionFacts& facts, const SessionInfo::Machine& machine,
                         const Settings* settings)
{
    return headline(facts, machine) + "\n" + field("backend", facts.backend) +
           field("sandbox", facts.sandbox_id) + field("principal", visible(facts.principal)) +
           field("created", facts.created) + field("last used", facts.last_used) +
           field("lifetime", facts.why) + field("pause", pause_line(facts, machine.info)) +
           field("working directory", visible(machine.info.cwd)) +
           field("home", visible(machine.info.home)) + made_with_text(facts, machine, settings) +
           field("room in the home", quota_text(machine.info.quota)) +
           jobs_text(machine.info.jobs) + ended_jobs_text(machine.info.ended) +
           layers_text(machine.layers) +
           (facts.state == "running" || facts.state == "paused" || machine.layers.empty()
                ? ""
                : "  what else isolates a sandbox is told once there is one\n");
}

json session_data(const session::SessionFacts& facts, const SessionInfo::Machine& machine,
                  const Settings* settings)
{
    auto layers = json::array();
    for (const auto& layer : machine.layers) {
        layers.push_back({{"name", layer.name},
                          {"in_force", layer.in_force},
                          {"detail", utf8::sanitize(layer.detail)}});
    }
    json data = {
        {"message", headline(facts, machine)},
        {"principal", facts.principal},
        {"sandbox_id", facts.sandbox_id},
        {"state", facts.state},
        {"created", facts.created},
        {"last_used", facts.last_used},
        {"lifetime", facts.why},
        {"pause", pause_data(machine.info)},
        {"cwd", utf8::sanitize(machine.info.cwd)},
        {"home", utf8::sanitize(machine.info.home)},
        {"uptime_ms", machine.info.uptime},
        {"commands_in_flight", machine.info.calls},
        {"layers", std::move(layers)},
        {"jobs", jobs_data(machine.info.jobs)},
        {"ended_jobs", ended_jobs_data(machine.info.ended)},
    };
    if (settings != nullptr || facts.machine != session::ToldMachine::unknown) {
        add_made_with(data, facts, machine, settings);
    }
    add_quota(data, machine.info.quota);
    return data;
}

} // namespace berth::tools
