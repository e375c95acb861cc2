#include "sandbox/guest/files/patch_text.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"

#include <optional>
#include <utility>

namespace berth::guest {
namespace {

constexpr std::string_view begin_mark = "*** Begin Patch";
constexpr std::string_view end_mark = "*** End Patch";
constexpr std::string_view end_of_file = "*** End of File";
constexpr std::string_view add_mark = "*** Add File:";
constexpr std::string_view update_mark = "*** Update File:";
constexpr std::string_view delete_mark = "*** Delete File:";
constexpr std::string_view move_mark = "*** Move to:";
constexpr std::size_t most_headers = 20; ///< of a hunk

/// What ends the here-document or the fence that a patch is often put into, where the line opens
/// one: `apply_patch <<'EOF'`, `<<EOF`, three backticks. Empty: it does not.
std::string_view wrapper_end(std::string_view line)
{
    constexpr std::string_view fence = "```";
    constexpr std::string_view command = "apply_patch";
    line = trimmed(line);
    if (line.starts_with(fence)) {
        return fence;
    }
    if (line.starts_with(command)) {
        line = trimmed(line.substr(command.size()));
    }
    if (!line.starts_with("<<")) {
        return {};
    }
    line = trimmed(line.substr(line.starts_with("<<-") ? 3 : 2));
    const char quote = line.empty() ? '\0' : line.front();
    if ((quote == '\'' || quote == '"') && line.size() > 2 && line.back() == quote) {
        line = line.substr(1, line.size() - 2);
    }
    return line;
}

class Parser {
  public:
    explicit Parser(std::string_view text) : rest_(text) { next(); }

    std::vector<PatchEntry> run()
    {
        while (!ended_ && trimmed(line_).empty()) {
            next();
        }
        if (ended_) {
            throw Error(ErrorCode::invalid_argument, "patch is empty",
                        "Begin with *** Begin Patch, then *** Update File: PATH. If it was left "
                        "out because the call was too long, send several smaller patches.");
        }
        const auto wrapper = wrapper_end(line_);
        if (!wrapper.empty()) {
            next();
        }
        if (trimmed(line_) != begin_mark) {
            refuse(begins_as_diff() ? "it is a unified diff"
                                    : "it does not begin with \"*** Begin Patch\"",
                   begins_as_diff() ? "write it as *** Begin Patch, *** Update File: PATH, hunks, "
                                      "*** End Patch; or apply it with patch in bash_exec"
                                    : "begin with *** Begin Patch, then *** Update File: PATH");
        }
        next();
        while (!ended_ && trimmed(line_) != end_mark) {
            entry();
        }
        if (ended_) {
            refuse("\"*** End Patch\" is missing: the end may have been cut off",
                   "send it again whole, or in several smaller patches");
        }
        next();
        if (!ended_ && !wrapper.empty() && trimmed(line_) == wrapper) {
            next();
        }
        for (; !ended_; next()) {
            if (!trimmed(line_).empty()) {
                refuse("there is more behind \"*** End Patch\"", "give one patch at a time");
            }
        }
        if (entries_.empty()) {
            refuse("it names no file", "say *** Update File: PATH, *** Add File: PATH ...");
        }
        return std::move(entries_);
    }

  private:
    [[nodiscard]] bool begins_as_diff() const
    {
        return line_.starts_with("--- ") || line_.starts_with("diff ") ||
               line_.starts_with("Index: ");
    }

    [[noreturn]] void refuse(const std::string& what, const std::string& hint) const
    {
        throw Error(ErrorCode::invalid_argument,
                    "line " + std::to_string(number_) + " of patch: " + what, hint);
    }

    /// The next line, without its end.
    void next()
    {
        ended_ = rest_.empty();
        if (ended_) {
            return;
        }
        const auto newline = rest_.find('\n');
        line_ = rest_.substr(0, newline);
        rest_.remove_prefix(newline == std::string_view::npos ? rest_.size() : newline + 1);
        if (line_.ends_with('\r')) {
            line_.remove_suffix(1);
        }
        ++number_;
    }

    /// The path behind a mark at the line's beginning.
    [[nodiscard]] std::optional<std::string> path_behind(std::string_view mark) const
    {
        if (!line_.starts_with(mark)) {
            return std::nullopt;
        }
        const auto path = trimmed(line_.substr(mark.size()));
        if (path.empty()) {
            refuse("there is no path behind \"" + std::string(mark) + "\"", "name the file there");
        }
        return std::string(path);
    }

    void entry()
    {
        PatchEntry entry;
        entry.line = number_;
        if (const auto added = path_behind(add_mark)) {
            entry.kind = PatchEntry::Kind::add;
            entry.path = *added;
            next();
            read_content(entry);
        } else if (const auto removed = path_behind(delete_mark)) {
            entry.kind = PatchEntry::Kind::remove;
            entry.path = *removed;
            next();
        } else if (const auto updated = path_behind(update_mark)) {
            entry.path = *updated;
            next();
            read_update(entry);
        } else if (trimmed(line_).empty()) {
            next();
            return;
        } else {
            refuse("\"" + shown() + "\" does not begin a file",
                   "a file begins with *** Add File: PATH, *** Update File: PATH or *** Delete "
                   "File: PATH; in a hunk each line begins with a blank, - or +");
        }
        entries_.push_back(std::move(entry));
        if (entries_.size() > most_patched_files) {
            refuse("it names more than " + std::to_string(most_patched_files) + " files",
                   "send several patches");
        }
    }

    [[nodiscard]] std::string shown() const
    {
        constexpr std::size_t most = 80;
        return visible_beginning(line_, most);
    }

    void read_content(PatchEntry& entry)
    {
        std::size_t empty = 0; // the file's where its content goes on, else between two files
        for (; !ended_ && !line_.starts_with("***"); next()) {
            if (line_.starts_with('+')) {
                entry.content.append(entry.content.empty() ? 0 : empty, '\n');
                entry.content.append(line_.substr(1)).append(1, '\n');
                empty = 0;
            } else if (trimmed(line_).empty()) {
                ++empty;
            } else {
                refuse("\"" + shown() + "\" in an added file does not begin with +",
                       "begin every line of its content with +");
            }
        }
    }

    void read_update(PatchEntry& entry)
    {
        if (!ended_) {
            if (auto destination = path_behind(move_mark)) {
                entry.move_to = std::move(*destination);
                next();
            }
        }
        while (!ended_ && (!line_.starts_with("***") || trimmed(line_) == end_of_file)) {
            read_hunk(entry);
        }
        if (entry.hunks.empty() && entry.move_to.empty()) {
            refuse("the update of " + visible(entry.path) + " has no hunk",
                   "give the lines that change, or leave the file out");
        }
    }

    void read_hunk(PatchEntry& entry)
    {
        PatchHunk hunk;
        hunk.line = number_;
        for (; !ended_ && line_.starts_with("@@"); next()) {
            if (auto header = header_of(line_);
                !header.empty() && hunk.headers.size() <= most_headers) {
                hunk.headers.push_back(std::move(header));
            }
        }
        if (hunk.headers.size() > most_headers) {
            refuse("a hunk has more than " + std::to_string(most_headers) + " @@ lines",
                   "one or two say which place is meant");
        }
        bool any = false;
        empty_at_end_ = 0;
        for (; !ended_ && read_line(hunk); next()) {
            any = true;
        }
        if (!ended_ && trimmed(line_) == end_of_file) {
            hunk.at_end = true;
            next();
        }
        if (!any) {
            refuse("a hunk of " + visible(entry.path) + " has no lines",
                   "each line of a hunk begins with a blank, - or +");
        }
        drop_empty_lines(hunk);
        if (hunk.old_text.empty() && hunk.new_text.empty() && hunk.headers.empty()) {
            return; // empty lines in front of the first @@
        }
        if (hunk.old_text == hunk.new_text) {
            refuse("a hunk of " + visible(entry.path) + " changes nothing",
                   "begin the lines that go with - and those that come with +");
        }
        if (++hunks_ > most_hunks) {
            refuse("it has more than " + std::to_string(most_hunks) + " hunks",
                   "send several patches");
        }
        entry.hunks.push_back(std::move(hunk));
    }

    /// Line numbers, as unified diffs have them, say nothing here.
    static std::string header_of(std::string_view line)
    {
        std::string_view header = trimmed(line.substr(2));
        if (header.starts_with('-') && header.find("@@") != std::string_view::npos) {
            header = trimmed(header.substr(header.find("@@") + 2));
        }
        if (header.ends_with("@@")) {
            header = trimmed(header.substr(0, header.size() - 2));
        }
        return std::string(header);
    }

    /// False when the line does not belong to the hunk.
    bool read_line(PatchHunk& hunk)
    {
        if (line_.starts_with("***") || line_.starts_with("@@")) {
            return false;
        }
        const char mark = line_.empty() ? ' ' : line_.front();
        const auto text = line_.empty() ? line_ : line_.substr(1);
        if (mark != ' ' && mark != '-' && mark != '+') {
            refuse("\"" + shown() + "\" in a hunk begins with no mark",
                   "begin a line that stays with a blank, one that goes with -, one that comes "
                   "with +");
        }
        if (mark != '+') {
            hunk.old_text.append(text).append(1, '\n');
        }
        if (mark != '-') {
            hunk.new_text.append(text).append(1, '\n');
        }
        empty_at_end_ = line_.empty() ? empty_at_end_ + 1 : 0;
        return true;
    }

    /// Empty lines in front of the next mark are there to be looked at, and none of the file's.
    void drop_empty_lines(PatchHunk& hunk) const
    {
        if (hunk.at_end || (!ended_ && !line_.starts_with("***") && !line_.starts_with("@@"))) {
            return;
        }
        for (std::size_t i = 0; i < empty_at_end_; ++i) {
            hunk.old_text.pop_back();
            hunk.new_text.pop_back();
        }
    }

    std::string_view rest_;
    std::string_view line_;
    std::size_t number_ = 0;
    std::size_t hunks_ = 0;
    bool ended_ = false;
    std::size_t empty_at_end_ = 0; ///< of the lines of a hunk, the last ones
    std::vector<PatchEntry> entries_;
};

} // namespace

std::string_view trimmed(std::string_view line) noexcept
{
    const auto first = line.find_first_not_of(" \t\r");
    return first == std::string_view::npos
               ? std::string_view()
               : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

std::vector<PatchEntry> parse_patch(std::string_view text)
{
    return Parser(text).run();
}

} // namespace berth::guest
