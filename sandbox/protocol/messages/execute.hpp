#pragma once

// Running a command.

#include "sandbox/protocol/messages/denial.hpp"
#include "sandbox/protocol/messages/limit_hits.hpp"
#include "sandbox/protocol/messages/protection.hpp"
#include "sandbox/protocol/messages/quota.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

enum class OnExit : std::uint8_t {
    keep = 0, ///< what the command leaves running becomes a job
    kill = 1, ///< it is stopped
};

enum class OnTimeout : std::uint8_t {
    kill = 0,
    background = 1, ///< the command goes on as a job; the reply is sent
};

struct ExecuteRequest {
    std::string id; ///< 32 hex digits, minted by the host: the command's name for ever
    std::string command;
    std::uint64_t timeout = 0; ///< running time; 0 is refused
    std::string workdir;       ///< for this call only; empty: the session's working directory
    std::map<std::string, std::string> environment; ///< on top of the session's
    std::optional<std::string> input;               ///< stdin; absent: /dev/null
    OnExit on_exit = OnExit::keep;
    std::uint64_t head_limit = 0; ///< kept of each stream's beginning and end, in bytes
    std::uint64_t tail_limit = 0;
    bool sticky_cwd = true; ///< a normal end moves the session's working directory
    /// Once stdout and stderr have more bytes than this together, or more characters with those
    /// written as escapes that can be (escaped_count), each of them that has more than a
    /// quarter of it is spilled at the latest when the command ends, even if head and tail hold all
    /// of it: the host shows less than that and must be able to name the whole. 0: never for this
    /// reason.
    std::uint64_t spill_above = 0;
    /// A job from the start: the reply is sent once the shell runs, and `timeout` is its deadline.
    bool background = false;
    OnTimeout on_timeout = OnTimeout::kill;
    /// Of what becomes a job later, from then on; 0: not limited.
    std::uint64_t job_lifetime = 0;
    bool stdin_open = false; ///< stdin is a pipe that stays open for job_input behind `input`
    /// The host sends an acknowledge frame behind the reply once that has reached whoever asked for
    /// the command. Where the connection ends without, nobody has seen how the command ended: the
    /// guest keeps its outcome as that of a job.
    bool acknowledge = false;
    bool has_secrets = false; ///< in its environment: what it prints is kept in no book
    /// What the command prints is told in events (PrintedTail), the first one so long after the
    /// start, each so long after the one before. 0: never.
    std::uint64_t progress = 0;
    std::optional<Protection> protection; ///< changes of which files are told; absent: of none

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.id);
        field(2, self.command);
        field(3, self.timeout);
        field(4, self.workdir);
        field(5, self.environment);
        field(6, self.input);
        field(7, self.on_exit);
        field(8, self.head_limit);
        field(9, self.tail_limit);
        field(10, self.sticky_cwd);
        field(11, self.spill_above);
        field(12, self.background);
        field(13, self.on_timeout);
        field(14, self.job_lifetime);
        field(15, self.stdin_open);
        field(16, self.progress);
        field(17, self.acknowledge);
        field(18, self.protection);
        field(19, self.has_secrets);
    }
};

enum class Fate : std::uint8_t { exited, signaled, timed_out, cancelled, oom_killed, lost };

/// One stream of a command: its beginning and end, and where the whole of it is. Lines that it
/// rewrote (FoldedText) are as they were at last; the file has all of them. head + tail +
/// omitted_bytes + folded_bytes is total_bytes.
struct StreamOutput {
    std::string head;
    std::string tail;                 ///< empty while all fits into head
    std::uint64_t total_bytes = 0;    ///< what the command wrote
    std::uint64_t total_lines = 0;    ///< newlines in it, plus one for an unfinished last line
    std::uint64_t omitted_bytes = 0;  ///< between head and tail
    std::uint64_t omitted_lines = 0;  ///< newlines in the omitted bytes
    std::string spill_path;           ///< empty: nothing was spilled
    std::uint64_t spill_bytes = 0;    ///< in the file: the first ones of the stream
    std::string spill_error;          ///< why the file is missing or not whole
    bool held_open = false;           ///< what was left running still holds the pipe
    std::uint64_t folded_bytes = 0;   ///< of what was rewritten, without newlines
    std::uint64_t folded_updates = 0; ///< how often there was something that was rewritten

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.head);
        field(2, self.tail);
        field(3, self.total_bytes);
        field(4, self.total_lines);
        field(5, self.omitted_bytes);
        field(6, self.omitted_lines);
        field(7, self.spill_path);
        field(8, self.spill_bytes);
        field(9, self.spill_error);
        field(10, self.held_open);
        field(11, self.folded_bytes);
        field(12, self.folded_updates);
    }
};

/// How it is known that nothing of a stopped command runs on.
enum class StopProof : std::uint8_t { none, cgroup, subreaper };

struct ProcessEntry {
    std::int64_t pid = 0; ///< as the sandbox sees it
    std::string name;     ///< its command line, cut

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.pid);
        field(2, self.name);
    }
};

struct ExecuteReply {
    Fate fate = Fate::exited;
    std::int32_t exit_code = 0; ///< -1 for timed_out, cancelled and lost, 128 + n for a signal
    std::int32_t signal = 0;
    std::uint64_t duration = 0;
    std::string cwd;    ///< the session's working directory from now on
    std::string notice; ///< e.g. that the working directory was gone
    StreamOutput out;
    StreamOutput err;
    std::uint64_t peak_memory = 0; ///< 0: unknown
    std::uint64_t cpu_time = 0;    ///< microseconds
    std::string usage_scope;       ///< "cgroup" or "process": whose peak_memory and cpu_time are
    std::string job_id;            ///< of what was left running, else empty
    std::vector<ProcessEntry> left_running;
    std::uint32_t survivors = 0; ///< after a stop: processes that could not be ended
    StopProof stop_proof = StopProof::none;
    bool cwd_changed = false; ///< by this command
    /// The shell runs on as `job_id`: neither fate nor exit code are known yet.
    bool background = false;
    std::string job_cursor;                     ///< of what the job prints behind `out` and `err`
    std::optional<std::uint64_t> job_remaining; ///< until the job is stopped
    bool acknowledge = false;            ///< the guest waits for what the request has announced
    std::optional<QuotaState> quota;     ///< once the command has ended; absent: no limit
    std::optional<LimitHits> limit_hits; ///< absent: none was met, or none is counted
    std::vector<ProtectedChange> protected_changes; ///< since the session's last look
    std::vector<Denial> denials;                    ///< of the session, while the command ran

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.fate);
        field(2, self.exit_code);
        field(3, self.signal);
        field(4, self.duration);
        field(5, self.cwd);
        field(6, self.notice);
        field(7, self.out);
        field(8, self.err);
        field(9, self.peak_memory);
        field(10, self.cpu_time);
        field(11, self.usage_scope);
        field(12, self.job_id);
        field(13, self.left_running);
        field(14, self.survivors);
        field(15, self.stop_proof);
        field(16, self.cwd_changed);
        field(17, self.background);
        field(18, self.job_cursor);
        field(19, self.job_remaining);
        field(20, self.acknowledge);
        field(21, self.quota);
        field(22, self.limit_hits);
        field(23, self.protected_changes);
        field(24, self.denials);
    }
};

} // namespace berth::protocol
