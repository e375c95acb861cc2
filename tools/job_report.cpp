#include "tools/job_report.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/denial_report.hpp"
#include "tools/limit_report.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <chrono>

namespace berth::tools {
namespace {

using protocol::JobState;
using protocol::JobStream;

std::string time_of(std::uint64_t milliseconds)
{
    return human_duration(std::chrono::milliseconds(milliseconds));
}

std::string condition(const JobState& state)
{
    const std::string job = visible(state.job_id);
    if (state.running && !state.shell_ended) {
        return job + " running";
    }
    if (state.not_run) {
        return job + " was not run";
    }
    const std::string end = ended_phrase(state.fate, state.exit_code, state.signal);
    return job + (state.running ? " running on: its shell ended with " + end : " ended: " + end);
}

std::string ended_by_phrase(const JobState& state)
{
    std::string text = state.running && state.ended_by == "kill" ? "being ended on request"
                                                                 : stopper_phrase(state.ended_by);
    if (state.survivors > 0) {
        text += (text.empty() ? "" : ", ") + counted(state.survivors, "process") +
                " could not be stopped";
    }
    return text;
}

/// Of what was left out: where it is, and how much of it. Only the newest file has a name here.
std::string where_kept(const JobStream& stream)
{
    const std::string path = visible(stream.text.spill_path);
    if (path.empty()) {
        return "not kept in a file";
    }
    const std::uint64_t first = stream.spill_begin;
    if (first == 0 && stream.text.spill_bytes >= stream.written) {
        return "whole in " + path;
    }
    return "bytes " + thousands(first) + " to " + thousands(first + stream.text.spill_bytes) +
           " in " + path +
           (first > stream.begin ? "; a since of any two byte numbers pages what is older" : "");
}

/// What is missing in what is shown, and where it is.
void add_stream_parts(std::vector<std::string>& parts, std::string_view name,
                      const JobStream& stream, const ShownStream& shown)
{
    const std::string title(name);
    if (stream.dropped > 0) {
        parts.push_back(title + ": " + human_bytes(stream.dropped) + " are kept no more");
    }
    const std::string missing = missing_phrase(stream.text, shown);
    if (!missing.empty()) {
        parts.push_back(title + " " + human_bytes(stream.text.total_bytes) + ", " + missing + ", " +
                        where_kept(stream));
    }
    if (!stream.text.spill_error.empty() && !missing.empty()) {
        parts.push_back(visible(stream.text.spill_error));
    }
    if (stream.unjudged > 0) {
        parts.push_back(title + ": the filter was too slow for the last " +
                        human_bytes(stream.unjudged) +
                        ", which the cursor leaves to the next call");
    } else if (stream.written > stream.end) {
        parts.push_back(title + ": an unfinished line of " +
                        human_bytes(stream.written - stream.end) + " is held back");
    }
}

std::string next_call(const protocol::JobOutputReply& reply, const std::string& filter)
{
    const nlohmann::json quoted(filter);
    return "next: bash_output {\"job_id\": \"" + visible(reply.state.job_id) + "\", \"since\": \"" +
           visible(reply.cursor) + "\", \"wait\": 30" +
           (filter.empty()
                ? ""
                : ", \"filter\": " +
                      quoted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) +
           "}";
}

nlohmann::json stream_data(const JobStream& stream, const ShownStream& shown)
{
    return {
        {"begin", stream.begin},
        {"end", stream.end},
        {"written_bytes", stream.written},
        {"dropped_bytes", stream.dropped},
        {"omitted_bytes", shown.omitted_bytes},
        {"omitted_lines", shown.omitted_lines},
        {"folded_bytes", stream.text.folded_bytes},
        {"folded_updates", stream.text.folded_updates},
        {"stripped_sequences", shown.stripped_sequences},
        {"filtered_bytes", stream.filtered_bytes},
        {"filtered_lines", stream.filtered_lines},
        {"spill_path", utf8::sanitize(stream.text.spill_path)},
        {"spill_begin", stream.spill_begin},
        {"spill_bytes", stream.text.spill_bytes},
        {"spill_error", utf8::sanitize(stream.text.spill_error)},
        {"held_open", stream.text.held_open},
    };
}

} // namespace

std::string stopper_phrase(std::string_view ended_by)
{
    return ended_by == "deadline" ? "stopped at its deadline"
           : ended_by == "kill"   ? "on request"
           : ended_by == "room"   ? "stopped for another command, which found no process free"
           : ended_by == "quota"
               ? "stopped since it made the home larger than session.quota lets it be"
               : "";
}

std::vector<std::string> job_parts(const JobState& state)
{
    return {
        condition(state),
        ended_by_phrase(state),
        time_of(state.age),
        state.running ? counted(state.processes, "process") : "",
        state.remaining
            ? "stopped in " + rough_duration(std::chrono::milliseconds(*state.remaining)) +
                  " at the latest"
            : "",
        visible(state.notice),
        throttled_phrase(state.limit_hits),
    };
}

std::string job_message(const JobState& state)
{
    const std::string by = ended_by_phrase(state);
    return condition(state) + (by.empty() ? "" : ", " + by);
}

nlohmann::json job_data(const JobState& state)
{
    const bool known = state.shell_ended;
    nlohmann::json data = {
        {"job_id", utf8::sanitize(state.job_id)},
        {"command", utf8::sanitize(state.command)},
        {"status", state.running ? "running" : "ended"},
        {"fate", known ? fate_word(state.fate) : "running"},
        {"exit_code", known ? state.exit_code : -1},
        {"signal", known && state.signal > 0 ? signal_name(state.signal) : ""},
        {"ended_by", utf8::sanitize(state.ended_by)},
        {"processes", state.processes},
        {"age_ms", state.age},
        {"remaining_ms", state.remaining.value_or(0)},
        {"takes_input", state.takes_input},
        {"survivors", state.survivors},
        {"stop_verified_by", proof_word(state.stop_proof)},
    };
    add_limit_hits(data, state.limit_hits);
    return data;
}

std::string job_output_text(const protocol::JobOutputReply& reply, const ShownStream& out,
                            const ShownStream& err, const std::string& filter)
{
    auto parts = job_parts(reply.state);
    add_stream_parts(parts, "stdout", reply.out, out);
    add_stream_parts(parts, "stderr", reply.err, err);
    parts.push_back(stripped_phrase(out, err));
    const auto filtered = reply.out.filtered_lines + reply.err.filtered_lines;
    if (filtered > 0) {
        parts.push_back(counted(filtered, "line") + " without a match left out");
    }
    std::string text = status_line(parts) + "\n";
    const std::string streams = streams_text(out, err);
    const bool from_start = reply.out.begin == 0 && reply.err.begin == 0;
    if (!streams.empty()) {
        text += streams;
    } else {
        text += filtered > 0          ? "(no new line matches)"
                : !from_start         ? "(nothing new)"
                : reply.state.running ? "(no output yet)"
                                      : "(no output)";
    }
    if (const auto denied = denials_text(denials_data(reply.state.denials)); !denied.empty()) {
        append_block(text, denied);
    }
    if (reply.state.running || reply.out.unjudged + reply.err.unjudged > 0) {
        append_block(text, "[" + next_call(reply, filter) + "]");
    }
    return text;
}

nlohmann::json job_output_data(const protocol::JobOutputReply& reply, const ShownStream& out,
                               const ShownStream& err)
{
    auto data = job_data(reply.state);
    data["message"] = job_message(reply.state);
    data["stdout"] = out.text;
    data["stderr"] = err.text;
    data["cursor"] = utf8::sanitize(reply.cursor);
    data["stdout_stream"] = stream_data(reply.out, out);
    data["stderr_stream"] = stream_data(reply.err, err);
    data["denials"] = denials_data(reply.state.denials);
    return data;
}

} // namespace berth::tools
