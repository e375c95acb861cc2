#include "tools/pause_report.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <chrono>

namespace berth::tools {
namespace {

std::string rough(std::uint64_t milliseconds)
{
    return rough_duration(std::chrono::milliseconds(milliseconds));
}

std::string reason_text(const protocol::PauseState& pause)
{
    if (pause.why == "idle") {
        return "nothing used it for " + rough(pause.idle_pause);
    }
    return pause.why == "left" ? "its last client had left" : "somebody asked for it";
}

std::string paused_text(const protocol::InfoReply& info)
{
    const auto& pause = *info.pause;
    std::string text = (pause.why.empty() ? "asleep, "
                                          : "paused for " + rough(pause.since) + " (" +
                                                reason_text(pause) + "), ") +
                       (info.jobs.empty() ? "" : counted(info.jobs.size(), "job") + " with it, ") +
                       "nothing is lost; the next call wakes it";
    if (pause.ends_in) {
        text += "; without one it ends in " + rough(*pause.ends_in);
    }
    return text;
}

} // namespace

std::vector<std::string> awake_by(const protocol::InfoReply& info)
{
    std::vector<std::string> reasons;
    if (!info.pause || info.pause->paused) {
        return reasons;
    }
    for (const auto& call : info.pause->calls) {
        reasons.push_back(visible(call));
    }
    if (info.pause->pauses_in) {
        return reasons; // they sleep with it (session.on_disconnect = "now")
    }
    for (const auto& job : info.jobs) {
        reasons.push_back(job.job_id + (job.remaining
                                            ? ", for " + rough(*job.remaining) + " at the longest"
                                            : ""));
    }
    return reasons;
}

std::string pause_text(const protocol::InfoReply& info)
{
    if (!info.pause) {
        return "";
    }
    if (info.pause->paused) {
        return paused_text(info);
    }
    if (info.pause->pauses_in) {
        return "in " + rough(*info.pause->pauses_in) +
               (info.jobs.empty()
                    ? " if no call and no job comes"
                    : " if no call comes, and " + counted(info.jobs.size(), "job") + " with it");
    }
    std::string text;
    for (const auto& reason : awake_by(info)) {
        text += (text.empty() ? "kept awake by " : "; ") + reason;
    }
    return !text.empty()                                 ? text
           : info.pause->why == protocol::paused_by_host ? "when its time limit runs out"
                                                         : "not by itself";
}

nlohmann::json pause_data(const protocol::InfoReply& info)
{
    nlohmann::json data{{"paused", false}, {"awake_by", nlohmann::json::array()}};
    if (!info.pause) {
        return data;
    }
    const auto& pause = *info.pause;
    data["paused"] = pause.paused;
    for (const auto& reason : awake_by(info)) {
        data["awake_by"].push_back(utf8::sanitize(reason));
    }
    if (pause.paused && !pause.why.empty()) {
        data["why"] = pause.why;
        data["paused_ms"] = pause.since;
    }
    if (pause.pauses_in) {
        data["pauses_in_ms"] = *pause.pauses_in;
    }
    if (pause.ends_in) {
        data["ends_in_ms"] = *pause.ends_in;
    }
    return data;
}

} // namespace berth::tools
