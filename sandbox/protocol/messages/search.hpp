#pragma once

// Finding files and finding text in them.

#include <cstdint>
#include <string>
#include <vector>

namespace berth::protocol {

struct GlobRequest {
    std::string pattern;
    std::string path; ///< empty: the working directory
    std::uint64_t limit = 0;
    bool respect_ignore = false;
    std::uint64_t time_limit = 0;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.pattern);
        field(2, self.path);
        field(3, self.limit);
        field(4, self.respect_ignore);
        field(5, self.time_limit);
    }
};

struct GlobReply {
    std::string root;                          ///< where the search began, absolute
    std::vector<std::string> paths;            ///< absolute, newest first, then by name
    std::uint64_t total = 0;                   ///< matches found, listed or not
    bool complete = true;                      ///< the whole tree was looked at
    std::string truncated_by;                  ///< empty, "limit" or "time"
    std::uint64_t unreadable = 0;              ///< directories that could not be opened
    std::vector<std::string> unreadable_paths; ///< the first few of them
    std::uint64_t capped_ignore_files = 0;     ///< whose rules were too many to obey all
    std::uint64_t ignored = 0;                 ///< files and directories that ignore rules left out
    bool git_left_out = false;                 ///< a .git was met in which matches could be

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.root);
        field(2, self.paths);
        field(3, self.total);
        field(4, self.complete);
        field(5, self.truncated_by);
        field(6, self.unreadable);
        field(7, self.unreadable_paths);
        field(8, self.capped_ignore_files);
        field(9, self.ignored);
        field(10, self.git_left_out);
    }
};

enum class GrepMode : std::uint8_t { content, files, count };

struct GrepRequest {
    std::string pattern;
    std::string path;                 ///< file or directory; empty: the working directory
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
    bool newest_first = false; ///< mode files: last changed first, then by path

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
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
        field(19, self.newest_first);
    }
};

struct GrepLine {
    std::uint64_t number = 0;
    std::string text;
    bool is_match = true;     ///< false: context
    bool cut = false;         ///< longer than line_limit
    bool group_start = false; ///< not adjacent to the line before: "--" goes between them
    bool continues = false;   ///< goes on with the occurrence of the line before (only_matching)
    bool cut_front = false;   ///< does not begin with the begin of its line

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.number);
        field(2, self.text);
        field(3, self.is_match);
        field(4, self.cut);
        field(5, self.group_start);
        field(6, self.continues);
        field(7, self.cut_front);
    }
};

struct GrepFile {
    std::string path;        ///< absolute
    std::uint64_t count = 0; ///< matching lines (occurrences with only_matching)
    std::vector<GrepLine> lines;
    std::uint64_t context_omitted = 0; ///< lines of context that would come first, left out for
                                       ///< want of room so that the first match has a place

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.count);
        field(3, self.lines);
        field(4, self.context_omitted);
    }
};

struct GrepReply {
    std::string root;
    std::vector<GrepFile> files;     ///< by path, or newest_first
    std::uint64_t total_files = 0;   ///< with a match
    std::uint64_t total_matches = 0; ///< past the limit too; 0 in mode files
    std::uint64_t searched_files = 0;
    std::uint64_t ignored_files = 0; ///< files and whole directories skipped by ignore rules
    std::uint64_t binary_files = 0;
    std::uint64_t unreadable = 0;
    bool complete = true;                      ///< the totals are those of the whole tree
    std::string truncated_by;                  ///< empty, "limit", "budget" or "time"
    std::uint64_t large_files = 0;             ///< multiline: not searched, as they are too large
    std::vector<std::string> unreadable_paths; ///< the first few; a directory's ends with '/'
    std::uint64_t capped_ignore_files = 0;     ///< whose rules were too many to obey all
    std::uint64_t slow_files = 0;              ///< left before their end, for their time
    bool counts_lines = false; ///< total_matches and the files' counts are of matching lines

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
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
        field(12, self.unreadable_paths);
        field(13, self.capped_ignore_files);
        field(14, self.slow_files);
        field(15, self.counts_lines);
    }
};

} // namespace berth::protocol
