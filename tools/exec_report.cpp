#include "tools/exec_report.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/denial_report.hpp"
#include "tools/full_screen.hpp"
#include "tools/limit_report.hpp"
#include "tools/quota_report.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <vector>

namespace berth::tools {
namespace {

using protocol::ExecuteReply;
using protocol::Fate;

/// Empty for an ordinary end with exit code 0.
std::string fate_phrase(const ExecuteReply& reply, std::chrono::seconds timeout)
{
    if (reply.background) {
        return {};
    }
    if (reply.fate == Fate::timed_out) {
        return "timed out after " + thousands(static_cast<std::uint64_t>(timeout.count())) + " s";
    }
    return reply.fate == Fate::exited && reply.exit_code == 0
               ? ""
               : ended_phrase(reply.fate, reply.exit_code, reply.signal);
}

/// Of an editor that nobody can type at.
std::string screen_phrase(const ExecuteReply& reply)
{
    const bool waited = reply.fate == Fate::timed_out || (reply.background && reply.duration > 0);
    return waited && (draws_screen(reply.out.head) || draws_screen(reply.err.head))
               ? "it draws a screen and waits for keys, and there is no terminal here: run it so "
                 "that it needs none"
               : std::string();
}

/// What became of the processes of a command that was stopped.
std::string stop_phrase(const ExecuteReply& reply)
{
    if (reply.background || (reply.fate != Fate::timed_out && reply.fate != Fate::cancelled)) {
        return {};
    }
    if (reply.survivors > 0) {
        return counted(reply.survivors, "process") + " could not be stopped";
    }
    const auto proof = proof_word(reply.stop_proof);
    return proof == "none"
               ? "stopped, not verified"
               : "all its processes are stopped (verified by " + std::string(proof) + ")";
}

std::string spill_phrase(const protocol::StreamOutput& stream)
{
    if (stream.spill_path.empty()) {
        return stream.spill_error.empty() ? "not kept" : "not kept: " + visible(stream.spill_error);
    }
    const std::string path = visible(stream.spill_path);
    const std::string place =
        path + " (read_file pages it)" +
        (stream.spill_error.empty() ? "" : ": " + visible(stream.spill_error));
    if (stream.spill_bytes < stream.total_bytes) {
        return "the first " + human_bytes(stream.spill_bytes) + " in " + place;
    }
    return (stream.spill_error.empty() ? "whole in " : "in ") + place;
}

std::string truncation_phrase(std::string_view name, const protocol::StreamOutput& stream,
                              const ShownStream& shown)
{
    const std::string missing = missing_phrase(stream, shown);
    return missing.empty() ? missing
                           : std::string(name) + " " + human_bytes(stream.total_bytes) + ", " +
                                 missing + ", " + spill_phrase(stream);
}

/// How the job is reached, for a model that has never done it.
std::string job_phrase(const ExecuteReply& reply)
{
    if (reply.job_id.empty()) {
        return {};
    }
    const bool fresh = reply.background && reply.duration == 0;
    return (reply.job_remaining
                ? "stopped in " + rough_duration(std::chrono::milliseconds(*reply.job_remaining)) +
                      " at the latest · "
                : std::string()) +
           "bash_output {\"job_id\": \"" + visible(reply.job_id) + "\"" +
           (fresh || reply.job_cursor.empty()
                ? ""
                : ", \"since\": \"" + visible(reply.job_cursor) + "\"") +
           ", \"wait\": 30} shows what it prints, bash_kill ends it";
}

std::string background_phrase(const ExecuteReply& reply)
{
    if (!reply.background) {
        return {};
    }
    return reply.duration == 0 ? "running in the background as " + visible(reply.job_id)
                               : "still running after " +
                                     human_duration(std::chrono::milliseconds(reply.duration)) +
                                     ": it goes on in the background as " + visible(reply.job_id);
}

std::string left_running_phrase(const ExecuteReply& reply)
{
    if (reply.background || (reply.job_id.empty() && reply.left_running.empty())) {
        return {};
    }
    constexpr std::size_t named = 5;
    std::string text = "left running";
    if (!reply.job_id.empty()) {
        text += " as " + visible(reply.job_id);
    }
    text += reply.left_running.empty() ? "" : ": ";
    return text + joined_first(reply.left_running, named, [](const auto& process) {
               return "pid " + std::to_string(process.pid) +
                      (process.name.empty() ? "" : " (" + visible(process.name) + ")");
           });
}

std::string status(const ExecuteReply& reply, const ShownStream& out, const ShownStream& err,
                   std::chrono::seconds timeout)
{
    constexpr std::chrono::milliseconds long_run{10'000};
    const std::chrono::milliseconds duration(reply.duration);
    std::vector<std::string> parts = {
        stop_phrase(reply),
        screen_phrase(reply),
        throttled_phrase(reply.limit_hits),
        reply.cwd_changed ? "cwd " + visible(reply.cwd) : "",
        truncation_phrase("stdout", reply.out, out),
        truncation_phrase("stderr", reply.err, err),
        stripped_phrase(out, err),
        left_running_phrase(reply),
        background_phrase(reply),
        job_phrase(reply),
    };
    const std::string fate = fate_phrase(reply, timeout);
    if (!fate.empty() || (duration >= long_run && !reply.background)) {
        parts.insert(parts.begin(), {fate, human_duration(duration)});
    }
    return status_line(parts);
}

nlohmann::json stream_data(const protocol::StreamOutput& stream, const ShownStream& shown)
{
    return {
        {"total_bytes", stream.total_bytes},
        {"total_lines", stream.total_lines},
        {"omitted_bytes", shown.omitted_bytes},
        {"omitted_lines", shown.omitted_lines},
        {"folded_bytes", stream.folded_bytes},
        {"folded_updates", stream.folded_updates},
        {"stripped_sequences", shown.stripped_sequences},
        {"spill_path", utf8::sanitize(stream.spill_path)},
        {"spill_bytes", stream.spill_bytes},
        {"spill_error", utf8::sanitize(stream.spill_error)},
        {"held_open", stream.held_open},
    };
}

std::string message(const ExecuteReply& reply, std::chrono::seconds timeout)
{
    if (reply.background) {
        return "The command runs in the background as " + visible(reply.job_id);
    }
    const std::string fate = fate_phrase(reply, timeout);
    return "The command ended: " + (fate.empty() ? "exit 0" : fate);
}

nlohmann::json processes(const ExecuteReply& reply)
{
    auto list = nlohmann::json::array();
    for (const auto& process : reply.left_running) {
        list.push_back({{"pid", process.pid}, {"name", utf8::sanitize(process.name)}});
    }
    return list;
}

} // namespace

std::string_view fate_word(Fate fate)
{
    switch (fate) {
    case Fate::exited:
        return "exited";
    case Fate::signaled:
        return "signaled";
    case Fate::timed_out:
        return "timed_out";
    case Fate::cancelled:
        return "cancelled";
    case Fate::oom_killed:
        return "oom_killed";
    case Fate::lost:
        break;
    }
    return "lost";
}

std::string_view proof_word(protocol::StopProof proof)
{
    switch (proof) {
    case protocol::StopProof::cgroup:
        return "cgroup";
    case protocol::StopProof::subreaper:
        return "subreaper";
    case protocol::StopProof::none:
        break;
    }
    return "none";
}

std::string ended_phrase(Fate fate, std::int32_t exit_code, std::int32_t signal)
{
    const std::string code = " (exit " + std::to_string(exit_code) + ")";
    switch (fate) {
    case Fate::exited:
        return "exit " + std::to_string(exit_code);
    case Fate::signaled:
        return "killed by " + signal_name(signal) + code;
    case Fate::timed_out:
        return "timed out";
    case Fate::cancelled:
        return "cancelled";
    case Fate::oom_killed:
        return "killed: out of memory" + code;
    case Fate::lost:
        break;
    }
    return "the outcome was lost";
}

std::string streams_text(const ShownStream& out, const ShownStream& err)
{
    std::string text = out.text;
    if (!err.text.empty()) {
        append_block(text, "[stderr]\n" + err.text);
    }
    return text;
}

std::string folded_phrase(std::uint64_t bytes, std::uint64_t updates)
{
    if (updates > 0) {
        return counted(updates, "update") + " by \\r folded";
    }
    return bytes > 0 ? human_bytes(bytes) + " of \\r folded" : std::string();
}

std::string missing_phrase(const protocol::StreamOutput& stream, const ShownStream& shown)
{
    std::string text = folded_phrase(stream.folded_bytes, stream.folded_updates);
    if (shown.omitted_bytes > 0) {
        text += text.empty() ? "middle left out" : ", middle left out";
    }
    return text;
}

std::string stripped_phrase(const ShownStream& out, const ShownStream& err)
{
    const auto sequences = out.stripped_sequences + err.stripped_sequences;
    return sequences == 0 ? std::string()
                          : counted(sequences, "escape sequence") + " left out (cat -v shows them)";
}

void append_block(std::string& text, const std::string& block)
{
    if (!text.empty() && text.back() != '\n') {
        text += '\n';
    }
    text += block;
}

std::string exec_text(const ExecuteReply& reply, const ShownStream& out, const ShownStream& err,
                      std::chrono::seconds timeout)
{
    std::string text = streams_text(out, err);
    const std::string line = status(reply, out, err, timeout);
    if (text.empty() && !(reply.background && reply.duration == 0)) {
        text = reply.background ? "(no output yet)" : "(no output)";
    }
    for (const auto& block : {denials_text(denials_data(reply.denials)), line}) {
        if (!block.empty()) {
            append_block(text, block);
        }
    }
    return text;
}

nlohmann::json exec_data(const ExecuteReply& reply, const ShownStream& out, const ShownStream& err,
                         std::chrono::seconds timeout)
{
    constexpr std::uint64_t microseconds = 1000;
    nlohmann::json data = {
        {"message", message(reply, timeout)},
        {"stdout", out.text},
        {"stderr", err.text},
        {"exit_code", reply.exit_code},
        {"fate", reply.background ? "running" : fate_word(reply.fate)},
        {"signal", reply.signal > 0 ? signal_name(reply.signal) : ""},
        {"timed_out", !reply.background && reply.fate == Fate::timed_out},
        {"duration_ms", reply.duration},
        {"cwd", utf8::sanitize(reply.cwd)},
        {"cwd_changed", reply.cwd_changed},
        {"stdout_truncated", out.omitted_bytes > 0},
        {"stderr_truncated", err.omitted_bytes > 0},
        {"stdout_stream", stream_data(reply.out, out)},
        {"stderr_stream", stream_data(reply.err, err)},
        {"peak_memory_bytes", reply.peak_memory},
        {"cpu_time_ms", reply.cpu_time / microseconds},
        {"usage_scope", reply.usage_scope},
        {"background", reply.background},
        {"job_id", utf8::sanitize(reply.job_id)},
        {"job_cursor", utf8::sanitize(reply.job_cursor)},
        {"job_remaining_ms", reply.job_remaining.value_or(0)},
        {"left_running", processes(reply)},
        {"survivors", reply.survivors},
        {"stop_verified_by", proof_word(reply.stop_proof)},
        {"denials", denials_data(reply.denials)},
    };
    add_quota(data, reply.quota);
    add_limit_hits(data, reply.limit_hits);
    return data;
}

} // namespace berth::tools
