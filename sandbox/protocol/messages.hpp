#pragma once

// What host and guest say to each other, one struct per request and reply. Paths are bytes as the
// kernel takes them, not necessarily UTF-8. Times are milliseconds, sizes bytes. Field numbers are
// for ever; new fields get new numbers.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

enum class Operation : std::uint16_t {
    ping = 1,
    info = 2,
    execute = 3,
    read_file = 4,
    write_file = 5,
    edit_file = 6,
    glob = 7,
    grep = 8,
    export_files = 9,  ///< guest -> host: data frames (see transfer.hpp) before the reply
    import_files = 10, ///< host -> guest: data frames (see transfer.hpp) after the request
    shutdown = 11,     ///< ends the machine: the reply is sent first
};

/// Sent in an error frame; mirrors berth::Error.
struct ErrorMessage {
    std::string code;
    std::string message;
    std::string hint;
    bool retryable = false;
    std::map<std::string, std::string> details;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.code);
        field(2, self.message);
        field(3, self.hint);
        field(4, self.retryable);
        field(5, self.details);
    }
};

struct Empty {
    template <class Self, class Field> static void fields(Self& /*self*/, Field&& /*field*/) {}
};

// ---- execute -----------------------------------------------------------------------------------

enum class OnExit : std::uint8_t {
    keep = 0, ///< what the command leaves running becomes a job
    kill = 1, ///< it is stopped
};

struct ExecuteRequest {
    std::string id; ///< 32 hex digits, minted by the host: the command's name for ever
    std::string command;
    std::uint64_t timeout = 0; ///< running time; 0 is refused
    std::string workdir;       ///< for this call only; empty: the session's working directory
    std::map<std::string, std::string> environment; ///< on top of the session's
    std::optional<std::string> input;                ///< stdin; absent: /dev/null
    OnExit on_exit = OnExit::keep;
    std::uint64_t head_limit = 0; ///< kept of each stream's beginning and end, in bytes
    std::uint64_t tail_limit = 0;
    bool sticky_cwd = true; ///< a normal end moves the session's working directory
    /// Once stdout and stderr have more bytes than this together, each of them that has more than a
    /// quarter of it is spilled at the latest when the command ends, even if head and tail hold all
    /// of it: the host shows less than that and must be able to name the whole. 0: never for this
    /// reason.
    std::uint64_t spill_above = 0;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
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
    }
};

enum class Fate : std::uint8_t { exited, signaled, timed_out, cancelled, oom_killed, lost };

/// One stream of a command: its beginning and end, and where the whole of it is.
struct StreamOutput {
    std::string head;
    std::string tail;              ///< empty while all fits into head
    std::uint64_t total_bytes = 0; ///< what the command wrote
    std::uint64_t total_lines = 0; ///< newlines in it, plus one for an unfinished last line
    std::uint64_t omitted_bytes = 0; ///< between head and tail
    std::uint64_t omitted_lines = 0; ///< newlines in the omitted bytes
    std::string spill_path;          ///< empty: nothing was spilled
    std::uint64_t spill_bytes = 0;   ///< in the file: the first ones of the stream
    std::string spill_error;         ///< why the file is missing or not whole
    bool held_open = false;          ///< what was left running still holds the pipe

    template <class Self, class Field> static void fields(Self& self, Field&& field)
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
    }
};

/// How it is known that nothing of a stopped command runs on.
enum class StopProof : std::uint8_t { none, cgroup, subreaper };

struct ProcessEntry {
    std::int64_t pid = 0; ///< as the sandbox sees it
    std::string name;     ///< its command line, cut

    template <class Self, class Field> static void fields(Self& self, Field&& field)
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

    template <class Self, class Field> static void fields(Self& self, Field&& field)
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
    }
};

// ---- files -------------------------------------------------------------------------------------

enum class Encoding : std::uint8_t { text, bytes };

struct ReadFileRequest {
    std::string path;
    std::uint64_t offset = 0; ///< text: lines to skip; bytes: bytes to skip
    std::uint64_t limit = 0;  ///< text: lines, bytes: bytes; 0 is refused
    std::uint64_t budget = 0; ///< at most so many bytes of text in the reply
    Encoding encoding = Encoding::text;
    std::uint64_t image_limit = 0; ///< an image above it is described, not returned

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.offset);
        field(3, self.limit);
        field(4, self.budget);
        field(5, self.encoding);
        field(6, self.image_limit);
    }
};

enum class FileKind : std::uint8_t { text, image, binary, directory };

struct DirectoryEntry {
    std::string name;
    std::string type; ///< file, directory, symlink, fifo, socket, device
    std::uint64_t size = 0;
    std::string target; ///< of a symlink

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.name);
        field(2, self.type);
        field(3, self.size);
        field(4, self.target);
    }
};

struct ReadFileReply {
    std::string path; ///< absolute, as any tool takes it
    FileKind kind = FileKind::text;
    std::uint64_t size = 0;
    std::string sha256; ///< of the whole file; empty when it is not a regular file or too large
    std::string content; ///< the lines (with their ends), the image, or the bytes
    std::uint64_t first_line = 0; ///< 1-based, of content
    std::uint64_t line_count = 0; ///< in content
    std::uint64_t total_lines = 0;
    std::string truncated_by; ///< empty, "limit", "budget" or "line" (a single line was cut)
    std::string mime_type;    ///< of an image or a known binary
    std::string encoding;     ///< "utf-8", "utf-8-bom", "utf-16le", "invalid-utf-8" ...
    std::string line_ending;  ///< "lf", "crlf", "mixed" or empty
    bool final_newline = false;
    std::vector<DirectoryEntry> entries;
    std::uint64_t total_entries = 0;
    bool totals_partial = false; ///< too large: lines, ending and encoding are of what was read

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.kind);
        field(3, self.size);
        field(4, self.sha256);
        field(5, self.content);
        field(6, self.first_line);
        field(7, self.line_count);
        field(8, self.total_lines);
        field(9, self.truncated_by);
        field(10, self.mime_type);
        field(11, self.encoding);
        field(12, self.line_ending);
        field(13, self.final_newline);
        field(14, self.entries);
        field(15, self.total_entries);
        field(16, self.totals_partial);
    }
};

enum class WriteMode : std::uint8_t { overwrite, create, append };

struct WriteFileRequest {
    std::string path;
    std::string content;
    WriteMode mode = WriteMode::overwrite;
    std::string if_sha256; ///< empty: no condition

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.content);
        field(3, self.mode);
        field(4, self.if_sha256);
    }
};

struct WriteFileReply {
    std::string path;
    std::uint64_t bytes = 0; ///< written by this call
    std::uint64_t size = 0;  ///< of the file now
    std::string sha256;      ///< of the whole file now
    bool created = false;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.bytes);
        field(3, self.size);
        field(4, self.sha256);
        field(5, self.created);
    }
};

struct Edit {
    std::string old_text;
    std::string new_text;
    bool replace_all = false;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.old_text);
        field(2, self.new_text);
        field(3, self.replace_all);
    }
};

struct EditFileRequest {
    std::string path;
    std::vector<Edit> edits; ///< in order, each on the result of the one before; all or nothing
    std::string if_sha256;
    bool dry_run = false;
    std::uint64_t max_size = 0;    ///< of the file
    std::uint64_t diff_budget = 0; ///< bytes of diff in the reply

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.edits);
        field(3, self.if_sha256);
        field(4, self.dry_run);
        field(5, self.max_size);
        field(6, self.diff_budget);
    }
};

struct EditFileReply {
    std::string path;
    std::uint64_t replacements = 0;
    std::uint64_t size = 0;
    std::string sha256;
    std::string diff; ///< unified, three lines of context
    bool diff_truncated = false;
    bool created = false;
    bool dry_run = false;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.replacements);
        field(3, self.size);
        field(4, self.sha256);
        field(5, self.diff);
        field(6, self.diff_truncated);
        field(7, self.created);
        field(8, self.dry_run);
    }
};

// ---- search ------------------------------------------------------------------------------------

struct GlobRequest {
    std::string pattern;
    std::string path; ///< empty: the working directory
    std::uint64_t limit = 0;
    bool respect_ignore = false;
    std::uint64_t time_limit = 0;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.pattern);
        field(2, self.path);
        field(3, self.limit);
        field(4, self.respect_ignore);
        field(5, self.time_limit);
    }
};

struct GlobReply {
    std::string root;               ///< where the search began, absolute
    std::vector<std::string> paths; ///< absolute, newest first, then by name
    std::uint64_t total = 0;        ///< matches found, listed or not
    bool complete = true;           ///< the whole tree was looked at
    std::string truncated_by;       ///< empty, "limit" or "time"
    std::uint64_t unreadable = 0;   ///< directories that could not be opened

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.root);
        field(2, self.paths);
        field(3, self.total);
        field(4, self.complete);
        field(5, self.truncated_by);
        field(6, self.unreadable);
    }
};

enum class GrepMode : std::uint8_t { content, files, count };

struct GrepRequest {
    std::string pattern;
    std::string path; ///< file or directory; empty: the working directory
    std::vector<std::string> include; ///< globs; with a leading '!' they exclude
    std::string type;                 ///< a file type of ripgrep: "py", "cpp" ...
    GrepMode mode = GrepMode::content;
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    bool ignore_case = false;
    bool fixed = false; ///< the pattern is text, not a regular expression
    bool multiline = false;
    bool only_matching = false;
    bool hidden = true;
    bool no_ignore = false;
    std::uint64_t limit = 0; ///< matching lines (context is extra), files or counts; 0: all
    std::uint64_t offset = 0;
    std::uint64_t line_limit = 0; ///< characters of a line that are shown
    std::uint64_t budget = 0;     ///< bytes of text in the reply
    std::uint64_t time_limit = 0;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.pattern);
        field(2, self.path);
        field(3, self.include);
        field(4, self.type);
        field(5, self.mode);
        field(6, self.before);
        field(7, self.after);
        field(8, self.ignore_case);
        field(9, self.fixed);
        field(10, self.multiline);
        field(11, self.only_matching);
        field(12, self.hidden);
        field(13, self.no_ignore);
        field(14, self.limit);
        field(15, self.offset);
        field(16, self.line_limit);
        field(17, self.budget);
        field(18, self.time_limit);
    }
};

struct GrepLine {
    std::uint64_t number = 0;
    std::string text;
    bool is_match = true;     ///< false: context
    bool cut = false;         ///< longer than line_limit
    bool group_start = false; ///< not adjacent to the line before: "--" goes between them

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.number);
        field(2, self.text);
        field(3, self.is_match);
        field(4, self.cut);
        field(5, self.group_start);
    }
};

struct GrepFile {
    std::string path; ///< absolute
    std::uint64_t count = 0; ///< matching lines (occurrences with only_matching)
    std::vector<GrepLine> lines;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.count);
        field(3, self.lines);
    }
};

struct GrepReply {
    std::string root;
    std::vector<GrepFile> files; ///< by path
    std::uint64_t total_files = 0; ///< with a match
    std::uint64_t total_matches = 0; ///< past the limit too; 0 in mode files
    std::uint64_t searched_files = 0;
    std::uint64_t ignored_files = 0; ///< files and whole directories skipped by ignore rules
    std::uint64_t binary_files = 0;
    std::uint64_t unreadable = 0;
    bool complete = true;     ///< the totals are those of the whole tree
    std::string truncated_by; ///< empty, "limit", "budget" or "time"
    std::uint64_t large_files = 0; ///< multiline: not searched, as they are above 8 MiB

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.root);
        field(2, self.files);
        field(3, self.total_files);
        field(4, self.total_matches);
        field(5, self.searched_files);
        field(6, self.ignored_files);
        field(7, self.binary_files);
        field(8, self.unreadable);
        field(9, self.complete);
        field(10, self.truncated_by);
        field(11, self.large_files);
    }
};

// ---- transfer ----------------------------------------------------------------------------------

struct ExportRequest {
    std::string path; ///< a file, a directory, or a glob pattern
    std::uint64_t max_bytes = 0;
    std::uint64_t max_entries = 0;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.max_bytes);
        field(3, self.max_entries);
    }
};

struct ExportReply {
    std::string root; ///< what the entries' names are relative to, absolute
    bool single = false; ///< `path` named one file
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::vector<std::string> skipped; ///< sockets, devices, symlinks: "name: reason"

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.root);
        field(2, self.single);
        field(3, self.files);
        field(4, self.bytes);
        field(5, self.skipped);
    }
};

struct ImportRequest {
    std::string path;    ///< the file, or the directory that gets the entries
    bool single = false; ///< one file is sent, and `path` is its name
    bool overwrite = true;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.single);
        field(3, self.overwrite);
    }
};

struct TransferredFile {
    std::string path; ///< absolute, in the sandbox
    std::uint64_t size = 0;
    std::string sha256;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.size);
        field(3, self.sha256);
    }
};

struct ImportReply {
    std::vector<TransferredFile> files;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.files);
    }
};

// ---- info --------------------------------------------------------------------------------------

struct JobEntry {
    std::string job_id;
    std::string command; ///< its beginning
    std::string status;  ///< "running"
    std::uint32_t processes = 0;
    std::uint64_t age = 0;

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.job_id);
        field(2, self.command);
        field(3, self.status);
        field(4, self.processes);
        field(5, self.age);
    }
};

struct InfoReply {
    std::string build;
    std::string cwd;
    std::string home;
    std::uint64_t uptime = 0;
    std::uint32_t connections = 0;
    std::uint32_t calls = 0; ///< commands in flight
    std::vector<JobEntry> jobs;
    std::vector<std::string> layers; ///< what the guest itself enforces: "seccomp", "cgroup-kill" ...

    template <class Self, class Field> static void fields(Self& self, Field&& field)
    {
        field(1, self.build);
        field(2, self.cwd);
        field(3, self.home);
        field(4, self.uptime);
        field(5, self.connections);
        field(6, self.calls);
        field(7, self.jobs);
        field(8, self.layers);
    }
};

} // namespace berth::protocol
