#include "server/cli/status.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/base/wall_time.hpp"
#include "sandbox/state_directory.hpp"
#include "server/cli/print.hpp"
#include "server/cli/reports.hpp"
#include "server/options/values.hpp"
#include "server/recent_errors.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace berth::server::cli {
namespace {

using nlohmann::json;

constexpr std::size_t shown_errors = 50;
constexpr std::size_t longest_reason = 600; ///< what failed, and why, which is at its end

/// Everything that is told, gathered once.
struct Status {
    sandbox::Availability availability;
    std::string trouble; ///< why the books of sessions cannot be asked; empty: they could be
    std::string trouble_remedy;
    std::int64_t retry_after = 0; ///< in seconds, where that is known
    std::size_t known = 0;
    std::vector<session::Activity> running; ///< or paused
    std::size_t paused = 0;                 ///< of them
    std::vector<RecentError> errors;
    std::string unread; ///< why errors could not be read
    std::string unkept; ///< when one could not be kept, the last time
    std::uint64_t commands = 0;
    std::size_t jobs = 0;
};

Status gather(session::SessionManager& sessions, const Options& options)
{
    Status status;
    status.availability = sessions.backend().availability();
    if (status.availability.available) { // else why not says more
        if (const auto why = sandbox::why_unwritable(options.sessions.state_directory)) {
            status.availability = {false, why->what(), why->hint(), why->code()};
        }
    }
    const auto unless = [&](bool told, const auto& action) {
        try {
            action();
        } catch (const Error& error) {
            if (!told) {
                status.trouble = error.what();
                status.trouble_remedy = error.hint();
            }
        }
    };
    // Where nothing can be made, the availability says why nothing is cleared up either; the books
    // can be read.
    Unsettled unsettled;
    unless(!status.availability.available, [&] { unsettled = collect_leftovers(sessions); });
    unless(false, [&] {
        status.known = sessions.names().size();
        status.running = sessions.activities();
    });
    status.retry_after = unsettled.seconds;
    if (status.retry_after > 0 && status.trouble.empty()) {
        status.trouble = unsettled.reason;
        status.trouble_remedy = unsettled.remedy;
    }
    status.errors = recent_errors(options.sessions.state_directory, shown_errors, &status.unread);
    if (const auto last = unkept_errors(options.sessions.state_directory)) {
        status.unkept = rfc3339(*last);
    }
    for (const auto& session : status.running) {
        status.commands += session.info.calls;
        status.jobs += session.info.jobs.size();
        status.paused += session.info.pause && session.info.pause->paused ? 1U : 0U;
    }
    return status;
}

json limits_json(const sandbox::Limits& limits)
{
    return {{"memory_bytes", limits.memory},
            {"pids", limits.pids},
            {"cpus", limits.cpus},
            {"open_files", limits.nofile},
            {"concurrent_commands", limits.calls},
            {"jobs", limits.jobs}};
}

json jobs_json(const Status& status)
{
    auto jobs = json::array();
    for (const auto& session : status.running) {
        for (const auto& job : session.info.jobs) {
            jobs.push_back({{"session", session.session},
                            {"principal", session.principal},
                            {"job_id", job.job_id},
                            {"command", job.command},
                            {"status", job.status},
                            {"processes", job.processes},
                            {"age_ms", job.age}});
        }
    }
    return jobs;
}

json silent_json(const Status& status)
{
    auto silent = json::array();
    for (const auto& session : status.running) {
        if (!session.trouble.empty()) {
            silent.push_back({{"session", session.session},
                              {"principal", session.principal},
                              {"reason", session.trouble}});
        }
    }
    return silent;
}

json errors_json(const Status& status)
{
    auto errors = json::array();
    for (const auto& error : status.errors) {
        errors.push_back({{"time", rfc3339(error.time)},
                          {"code", error.code},
                          {"tool", error.tool},
                          {"session", error.session},
                          {"message", error.message}});
    }
    return errors;
}

std::string indented(std::vector<std::vector<std::string>> rows)
{
    std::string text = table(std::move(rows));
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        text.insert(at, "  ");
    }
    return text;
}

std::string jobs_text(const Status& status)
{
    std::vector<std::vector<std::string>> rows;
    for (const auto& session : status.running) {
        for (const auto& job : session.info.jobs) {
            const auto whole_seconds = job.age / 1000 * 1000; // of milliseconds
            rows.push_back({job.job_id, job.status, session.session,
                            format_duration(static_cast<double>(whole_seconds)),
                            one_line(job.command)});
        }
        if (!session.trouble.empty()) {
            rows.push_back(
                {"?", "silent", session.session, "", one_line(session.trouble, longest_reason)});
        }
    }
    return indented(std::move(rows));
}

std::string errors_text(const Status& status)
{
    std::vector<std::vector<std::string>> rows;
    rows.reserve(status.errors.size());
    for (const auto& error : status.errors) {
        rows.push_back({rfc3339(error.time), error.code, or_dash(error.tool),
                        or_dash(error.session), one_line(error.message, longest_reason)});
    }
    return indented(std::move(rows));
}

std::string latest_errors(const Status& status)
{
    std::string text = "errors     ";
    if (!status.errors.empty()) {
        text += "the latest, newest first:\n" + errors_text(status);
        if (!status.unread.empty()) {
            text += "           not all can be read: " + visible(status.unread) + '\n';
        }
    } else if (!status.unread.empty()) {
        text += "not known, cannot be read: " + visible(status.unread) + '\n';
    } else {
        text += status.unkept.empty() ? "none lately\n" : "none kept\n";
    }
    if (!status.unkept.empty()) {
        text += "           some could not be kept, the last one at " + status.unkept + '\n';
    }
    return text;
}

/// What is told of folders and reasons has names in it that can be anybody's.
std::string status_text(const Status& status, std::string_view backend, const std::string& state)
{
    std::string text = "backend    " + std::string(backend) + '\n';
    text += std::string("available  ") + (status.availability.available ? "yes" : "no") + '\n';
    if (!status.availability.available) {
        text += "why not    " + visible(status.availability.reason) + "\nremedy     " +
                or_dash(visible(status.availability.remedy)) + '\n';
    }
    text += "state      " + visible(state) + '\n';
    if (status.trouble.empty()) {
        text += "sessions   " + std::to_string(status.running.size() - status.paused) +
                " running, " +
                (status.paused > 0 ? std::to_string(status.paused) + " paused, " : "") +
                std::to_string(status.known) + " known\n";
        text += "commands   " + std::to_string(status.commands) + " in flight\n";
        text += "jobs       " + std::to_string(status.jobs) + '\n' + jobs_text(status);
    } else {
        text += "sessions   not known: " + visible(status.trouble) + '\n';
        if (status.availability.available || status.trouble != status.availability.reason) {
            text += "remedy     " + or_dash(visible(status.trouble_remedy)) + '\n';
        }
    }
    return text + latest_errors(status);
}

/// Of what there is to say first why nothing can be made.
json reasons_json(const Status& status)
{
    const auto& told = status.availability;
    if (told.available) {
        return {{"reason", status.trouble}, {"remedy", status.trouble_remedy}};
    }
    if (status.trouble.empty() || status.trouble == told.reason) {
        return {{"reason", told.reason}, {"remedy", told.remedy}};
    }
    return {{"reason", told.reason + "; sessions not known: " + status.trouble},
            {"remedy", joined(std::vector{told.remedy, status.trouble_remedy}, "; ")}};
}

} // namespace

Outcome show_status(session::SessionManager& sessions, const Options& options)
{
    const auto status = gather(sessions, options);
    const auto& availability = status.availability;
    const auto& state = options.sessions.state_directory;
    Outcome outcome{.data = boxed({{"enabled", true},
                                   {"available", availability.available},
                                   {"sessions_known", status.trouble.empty()},
                                   {"retry_after", status.retry_after},
                                   {"backend", sessions.backend().name()},
                                   {"state_dir", state},
                                   {"sessions", status.known},
                                   {"active_sessions", status.running.size()},
                                   {"paused_sessions", status.paused},
                                   {"commands_in_flight", status.commands},
                                   {"jobs", jobs_json(status)},
                                   {"silent_sessions", silent_json(status)},
                                   {"recent_errors", errors_json(status)},
                                   {"unread_errors", status.unread},
                                   {"unkept_errors", status.unkept},
                                   {"limits", limits_json(options.sessions.limits)}}),
                    .text = status_text(status, sessions.backend().name(), state),
                    .complaint = {},
                    .remedy = {},
                    .failure = {}};
    outcome.data->update(reasons_json(status));
    if (!availability.available || !status.trouble.empty()) {
        outcome.failure = ErrorCode::sandbox_unavailable;
    }
    return outcome;
}

} // namespace berth::server::cli
