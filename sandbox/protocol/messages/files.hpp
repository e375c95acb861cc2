#pragma once

// Reading, writing and editing a file.

#include "sandbox/protocol/messages/protection.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

enum class Encoding : std::uint8_t { text, bytes };

struct ReadFileRequest {
    std::string path;
    std::uint64_t offset = 0; ///< text: lines to skip; bytes: bytes to skip
    std::uint64_t limit = 0;  ///< text: lines, bytes: bytes; 0 is refused
    std::uint64_t budget = 0; ///< at most so many bytes of text in the reply
    Encoding encoding = Encoding::text;
    std::uint64_t image_limit = 0; ///< an image above it is described, not returned
    /// Not 0: begin that many lines, bytes or entries before the end; offset is not looked at.
    std::uint64_t from_end = 0;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.offset);
        field(3, self.limit);
        field(4, self.budget);
        field(5, self.encoding);
        field(6, self.image_limit);
        field(7, self.from_end);
    }
};

enum class FileKind : std::uint8_t { text, image, binary, directory };

struct DirectoryEntry {
    std::string name;
    std::string type; ///< file, directory, symlink, fifo, socket, device
    std::uint64_t size = 0;
    std::string target; ///< of a symlink

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
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
    std::string sha256;  ///< of the whole file; empty when it is not a regular file or too large
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
    std::uint64_t skipped = 0;   ///< bytes and entries: how many are before content
    /// Not 0: content begins with this line, counted from the end, whose number is not known.
    std::uint64_t lines_from_end = 0;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
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
        field(17, self.skipped);
        field(18, self.lines_from_end);
    }
};

enum class WriteMode : std::uint8_t { overwrite, create, append };

struct WriteFileRequest {
    std::string path;
    std::string content;
    WriteMode mode = WriteMode::overwrite;
    std::string if_sha256;                ///< empty: no condition
    Encoding encoding = Encoding::text;   ///< text is not appended to UTF-16 or UTF-32
    std::optional<Protection> protection; ///< absent: no file is

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.content);
        field(3, self.mode);
        field(4, self.if_sha256);
        field(5, self.encoding);
        field(6, self.protection);
    }
};

struct WriteFileReply {
    std::string path;
    std::uint64_t bytes = 0; ///< written by this call
    std::uint64_t size = 0;  ///< of the file now
    std::string sha256;      ///< of the whole file now; empty when it was not computed
    bool created = false;
    std::vector<ProtectedChange> protected_changes;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.bytes);
        field(3, self.size);
        field(4, self.sha256);
        field(5, self.created);
        field(6, self.protected_changes);
    }
};

struct Edit {
    std::string old_text;
    std::string new_text;
    bool replace_all = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
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
    bool tolerant = false; ///< a text that does not occur matches but for tabs, line ends ...
    std::optional<Protection> protection; ///< absent: no file is

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.edits);
        field(3, self.if_sha256);
        field(4, self.dry_run);
        field(5, self.max_size);
        field(6, self.diff_budget);
        field(7, self.tolerant);
        field(8, self.protection);
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
    std::vector<std::string> tolerated; ///< what old_text differed in: "tabs", "quotes" ...
    std::vector<ProtectedChange> protected_changes;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.replacements);
        field(3, self.size);
        field(4, self.sha256);
        field(5, self.diff);
        field(6, self.diff_truncated);
        field(7, self.created);
        field(8, self.dry_run);
        field(9, self.tolerated);
        field(10, self.protected_changes);
    }
};

} // namespace berth::protocol
