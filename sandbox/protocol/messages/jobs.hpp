#pragma once

// Commands that go on after their call: what they print, what they read, how they end.

#include "sandbox/base/control_characters.hpp"
#include "sandbox/protocol/messages/execute.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

/// A job that runs, or one of the last that ended.
struct JobState {
    std::string job_id;
    std::string command; ///< its beginning
    bool running = false;
    /// The shell has ended; what it left may run on. Only then are the next three meant.
    bool shell_ended = false;
    Fate fate = Fate::exited;
    std::int32_t exit_code = 0; ///< as in ExecuteReply
    std::int32_t signal = 0;
    std::uint32_t processes = 0;
    std::uint64_t age = 0;                  ///< since it was started, at its end if it has ended
    std::optional<std::uint64_t> remaining; ///< until it is stopped; absent: not limited
    std::string ended_by;        ///< "deadline", "kill", "room", "quota"; empty: by itself
    std::uint32_t survivors = 0; ///< of a stop
    StopProof stop_proof = StopProof::none;
    std::string notice;                  ///< e.g. that memory was short
    bool takes_input = false;            ///< its standard input is open for job_input
    bool not_run = false;                ///< nothing of it: `notice` says why
    std::optional<LimitHits> limit_hits; ///< until its shell ended; absent: none
    std::vector<Denial> denials;         ///< of the session, since it began
    std::optional<bool> has_secrets;     ///< see ExecuteRequest; absent: an earlier guest

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.job_id);
        field(2, self.command);
        field(3, self.running);
        field(4, self.shell_ended);
        field(5, self.fate);
        field(6, self.exit_code);
        field(7, self.signal);
        field(8, self.processes);
        field(9, self.age);
        field(10, self.remaining);
        field(11, self.ended_by);
        field(12, self.survivors);
        field(13, self.stop_proof);
        field(14, self.notice);
        field(15, self.takes_input);
        field(16, self.not_run);
        field(17, self.limit_hits);
        field(18, self.denials);
        field(19, self.has_secrets);
    }
};

struct JobOutputRequest {
    std::string job_id;
    std::string cursor;           ///< of an earlier answer; empty: from the beginning
    std::uint64_t wait = 0;       ///< at most so long for something new, or for an end
    std::string filter;           ///< RE2: only lines with a match; empty: all
    std::uint64_t head_limit = 0; ///< of each stream, as in ExecuteRequest
    std::uint64_t tail_limit = 0;
    std::uint64_t progress = 0; ///< as in ExecuteRequest, while it waits
    /// As they will be treated in what is shown: that is what the filter judges.
    ControlCharacters control_characters = ControlCharacters::strip;
    /// Whoever asks will say, as in ExecuteRequest, that an answer which tells the end was read:
    /// until then it counts as told to nobody. Without, it is read once it is answered.
    bool acknowledge = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.job_id);
        field(2, self.cursor);
        field(3, self.wait);
        field(4, self.filter);
        field(5, self.head_limit);
        field(6, self.tail_limit);
        field(7, self.progress);
        field(8, self.control_characters);
        field(9, self.acknowledge);
    }
};

/// One stream of a job from a cursor on. begin + dropped + what `text` counts and what the filter
/// left out is `end`.
struct JobStream {
    StreamOutput text;         ///< its totals are of this part; spill_bytes: of the newest file
    std::uint64_t begin = 0;   ///< the cursor's, in bytes of the stream
    std::uint64_t end = 0;     ///< of the next cursor
    std::uint64_t dropped = 0; ///< bytes of it that are kept no more
    std::uint64_t filtered_lines = 0; ///< without a match
    std::uint64_t filtered_bytes = 0;
    std::uint64_t written = 0;     ///< by the job so far; more than `end`: an unfinished line
    std::uint64_t spill_begin = 0; ///< of the file's first byte, in the stream
    std::uint64_t unjudged = 0;    ///< bytes behind `end` that the filter had no time for

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.text);
        field(2, self.begin);
        field(3, self.end);
        field(4, self.dropped);
        field(5, self.filtered_lines);
        field(6, self.filtered_bytes);
        field(7, self.written);
        field(8, self.spill_begin);
        field(9, self.unjudged);
    }
};

struct JobOutputReply {
    JobState state;
    JobStream out;
    JobStream err;
    std::string cursor;       ///< of what follows
    bool acknowledge = false; ///< it tells the end, which counts as read once that is said

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.state);
        field(2, self.out);
        field(3, self.err);
        field(4, self.cursor);
        field(5, self.acknowledge);
    }
};

struct JobInputRequest {
    std::string job_id;
    std::string input;
    bool close = false; ///< end of file behind it

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.job_id);
        field(2, self.input);
        field(3, self.close);
    }
};

struct JobInputReply {
    JobState state;
    std::uint64_t taken = 0;   ///< bytes: all of the input
    std::uint64_t waiting = 0; ///< of what was ever taken: for room in the pipe

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.state);
        field(2, self.taken);
        field(3, self.waiting);
    }
};

struct JobKillRequest {
    std::string job_id;
    std::int32_t signal = 0;  ///< to every process; SIGTERM and SIGKILL end the job
    std::uint64_t grace = 0;  ///< after SIGTERM, until what is left is killed
    bool acknowledge = false; ///< as in JobOutputRequest

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.job_id);
        field(2, self.signal);
        field(3, self.grace);
        field(4, self.acknowledge);
    }
};

struct JobKillReply {
    JobState state;
    std::uint32_t signalled = 0; ///< processes that got the signal
    bool acknowledge = false;    ///< as in JobOutputReply

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.state);
        field(2, self.signalled);
        field(3, self.acknowledge);
    }
};

} // namespace berth::protocol
