#include "sandbox/guest/files/edit_diff.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/document_facts.hpp"
#include "sandbox/guest/files/edit_regions.hpp"
#include "sandbox/guest/files/line_diff.hpp"

#include <deque>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::guest {
namespace {

constexpr std::size_t context_lines = 3;

void put_line(std::string& out, char mark, std::string_view line)
{
    out += mark;
    out += line;
    if (!line.ends_with('\n')) {
        out += "\n\\ No newline at end of file\n";
    }
}

/// The line ends of some lines, which no diff shows.
class LineEnds {
  public:
    void add(std::string_view line)
    {
        (line.ends_with("\r\n") ? crlf_ : lf_) |= line.ends_with('\n');
    }

    [[nodiscard]] std::string_view name() const noexcept
    {
        return crlf_ && lf_ ? "mixed" : crlf_ ? "CRLF" : lf_ ? "LF" : "";
    }

  private:
    bool crlf_ = false;
    bool lf_ = false;
};

/// Puts changed lines together to hunks.
class HunkWriter {
  public:
    HunkWriter(LineReader& lines, std::uint64_t budget, std::string header)
        : lines_(lines), budget_(budget)
    {
        diff_.text = std::move(header);
    }

    [[nodiscard]] bool full() const noexcept { return diff_.truncated; }

    /// Lines [begin, end) of the original become `added`.
    void change(std::uint64_t begin, std::uint64_t end,
                const std::vector<std::string_view>& removed,
                const std::vector<std::string_view>& added)
    {
        if (full()) {
            return;
        }
        if (!open_ || !bridge(begin)) {
            close();
            start(begin);
        }
        for (const auto line : removed) {
            put_line(body_, '-', line);
            old_ends_.add(line);
        }
        for (const auto line : added) {
            put_line(body_, '+', line);
            new_ends_.add(line);
        }
        old_count_ += removed.size();
        new_count_ += added.size();
        behind_ = end;
        if (body_.size() > budget_) {
            // Changes that are near to each other grow into one hunk: of a large file in which each
            // line changes it would be the whole, twice, in the guest's memory.
            close();
        }
    }

    Diff finish(bool gave_up)
    {
        close();
        diff_.truncated |= gave_up;
        if (!any_ && !diff_.truncated) {
            diff_.text.clear(); // names alone would say that there is a difference
        }
        return std::move(diff_);
    }

  private:
    void put_context(std::uint64_t begin, std::uint64_t end)
    {
        put_line(body_, ' ', lines_.text(begin, end));
        ++old_count_;
        ++new_count_;
    }

    /// Up to `limit` lines from behind the last change; where they end.
    std::vector<std::uint64_t> line_ends(std::uint64_t from, std::uint64_t to, std::size_t limit)
    {
        std::vector<std::uint64_t> ends;
        while (from < to && ends.size() < limit) {
            const auto end = lines_.line_end(from);
            if (!end) {
                break;
            }
            ends.push_back(*end);
            from = *end;
        }
        return ends;
    }

    /// Goes on in the same hunk when the next change is near enough.
    bool bridge(std::uint64_t begin)
    {
        const auto ends = line_ends(behind_, begin, 2 * context_lines);
        if ((ends.empty() ? behind_ : ends.back()) != begin) {
            return false;
        }
        for (const auto end : ends) {
            put_context(behind_, end);
            behind_ = end;
        }
        return true;
    }

    void start(std::uint64_t begin)
    {
        std::deque<std::uint64_t> starts{begin};
        while (starts.size() <= context_lines && starts.front() > behind_) {
            const auto previous = lines_.line_start(starts.front() - 1);
            if (!previous) {
                break; // a line too long to be shown
            }
            starts.push_front(*previous);
        }
        old_line_ = lines_.lines_before(starts.front());
        new_line_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(old_line_) + shift_);
        open_ = true;
        for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
            put_context(starts[i], starts[i + 1]);
        }
    }

    void close()
    {
        if (!open_) {
            return;
        }
        for (const auto end : line_ends(behind_, lines_.size(), context_lines)) {
            put_context(behind_, end);
            behind_ = end;
        }
        shift_ += static_cast<std::int64_t>(new_count_) - static_cast<std::int64_t>(old_count_);
        // Of no lines at all, the line before is named.
        std::string hunk = "@@ -" + std::to_string(old_line_ + (old_count_ > 0 ? 1 : 0)) + "," +
                           std::to_string(old_count_) + " +" +
                           std::to_string(new_line_ + (new_count_ > 0 ? 1 : 0)) + "," +
                           std::to_string(new_count_) + " @@" + changed_ends() + "\n" + body_;
        hunk = utf8::is_valid(hunk) ? std::move(hunk) : utf8::sanitize(hunk);
        if (diff_.text.size() + hunk.size() <= budget_) {
            diff_.text += hunk;
        } else {
            diff_.truncated = true;
            if (!any_ && diff_.text.size() < budget_) {
                const auto part = std::string_view(hunk).substr(
                    0, static_cast<std::size_t>(budget_ - diff_.text.size()));
                diff_.text += part.substr(0, part.rfind('\n') + 1);
            }
        }
        any_ = true;
        open_ = false;
        body_.clear();
        old_count_ = 0;
        new_count_ = 0;
        old_ends_ = {};
        new_ends_ = {};
    }

    /// Behind the second @@, where patch takes any text: "-a" and "+a" would look the same.
    [[nodiscard]] std::string changed_ends() const
    {
        const auto before = old_ends_.name();
        const auto after = new_ends_.name();
        if (before.empty() || after.empty() || before == after) {
            return {};
        }
        return " line ends: " + std::string(before) + " to " + std::string(after);
    }

    LineReader& lines_;
    std::uint64_t budget_;
    Diff diff_;
    bool any_ = false;  ///< hunk was closed
    bool open_ = false; ///< the members below describe a hunk
    std::string body_;
    std::uint64_t old_line_ = 0; ///< 0-based
    std::uint64_t new_line_ = 0;
    std::uint64_t old_count_ = 0;
    std::uint64_t new_count_ = 0;
    LineEnds old_ends_; ///< of the removed lines, new_ends_ of the added ones
    LineEnds new_ends_;
    std::uint64_t behind_ = 0; ///< offset in the original, behind what was written
    std::int64_t shift_ = 0;   ///< of line numbers, by the hunks before
};

/// The removed and added lines of a region, without those that are the same.
void write_region(HunkWriter& hunks, LineReader& lines, const Region& region)
{
    const std::string old_text = lines.text(region.begin, region.end);
    const auto old_lines = split_lines(old_text);
    const auto new_lines = split_lines(region.text);
    std::size_t line = 0;
    std::uint64_t at = region.begin;
    for (const auto& change : diff_lines(old_lines, new_lines)) {
        for (; line < change.old_line; ++line) {
            at += old_lines[line].size();
        }
        const std::uint64_t begin = at;
        for (; line < change.old_line + change.removed; ++line) {
            at += old_lines[line].size();
        }
        const auto part = [](const std::vector<std::string_view>& from, std::size_t first,
                             std::size_t count) {
            const auto start = from.begin() + static_cast<std::ptrdiff_t>(first);
            return std::vector<std::string_view>(start, start + static_cast<std::ptrdiff_t>(count));
        };
        hunks.change(begin, at, part(old_lines, change.old_line, change.removed),
                     part(new_lines, change.new_line, change.added));
    }
}

} // namespace

Diff unified_diff(const Document& document, std::uint64_t budget, bool created, bool binary)
{
    const std::string path = visible(document.path());
    const std::string before = created ? "/dev/null" : path;
    if (binary && !created && is_as_original(document)) {
        return {}; // it was moved, no more
    }
    if (binary) {
        return {.text = "Binary files " + before + " and " + path + " differ\n"};
    }
    // What is larger cannot be shown anyway, and would have to be held in memory.
    const std::uint64_t largest = 2 * budget + 64UL * 1024;
    LineReader lines(document, largest);
    RegionReader regions(document, lines, largest);
    HunkWriter hunks(lines, budget, "--- " + before + "\n+++ " + path + "\n");
    while (!hunks.full()) {
        const auto region = regions.next();
        if (!region) {
            break;
        }
        write_region(hunks, lines, *region);
    }
    return hunks.finish(regions.gave_up());
}

} // namespace berth::guest
