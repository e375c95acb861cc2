#include "tools/grep_report.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/render.hpp"
#include "tools/unreadable.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

namespace berth::tools {
namespace {

using nlohmann::json;
using protocol::GrepMode;
using protocol::GrepReply;

std::string_view mode_word(GrepMode mode)
{
    switch (mode) {
    case GrepMode::files:
        return "files";
    case GrepMode::count:
        return "count";
    case GrepMode::content:
        break;
    }
    return "content";
}

/// The report as far as it fits.
struct Listing {
    std::string text;
    json files = json::array();
    std::uint64_t listed = 0; ///< what limit and offset count
    std::uint64_t left = 0;   ///< characters
    std::uint64_t context_omitted = 0;
    bool full = false;

    /// False, and nothing is added, when it does not fit any more. What is listed first has room
    /// whatever its size: a report without it would leave no way on.
    bool add(const std::string& line, bool is_unit)
    {
        const std::uint64_t needed = utf8::count(line);
        if (needed > left && (listed > 0 || !is_unit)) {
            full = true;
            return false;
        }
        left -= std::min(needed, left);
        listed += is_unit ? 1 : 0;
        text += line;
        return true;
    }
};

/// A match may span lines (multiline): each of its lines is one of the report.
std::string numbered(const std::string& path, const protocol::GrepLine& line)
{
    const char separator = line.is_match ? ':' : '-';
    std::string result;
    std::uint64_t number = line.number;
    std::string_view rest = line.text;
    do {
        const auto end = rest.find('\n');
        std::string_view body = rest.substr(0, end);
        if (body.ends_with('\r')) {
            body.remove_suffix(1);
        }
        result += path + separator + std::to_string(number) + separator;
        result += line.cut_front && number == line.number ? "[cut] " : "";
        result += utf8::sanitize(body);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        result += rest.empty() && line.cut ? " [cut]\n" : "\n";
        ++number;
    } while (!rest.empty());
    return result;
}

/// How many of the file's lines, all of them context, are left out so that the first match of the
/// report has room: what is farthest from it.
std::size_t context_without_room(const Listing& listing, const std::string& path,
                                 const protocol::GrepFile& file)
{
    const auto& lines = file.lines;
    auto shown = std::find_if(lines.begin(), lines.end(), [](const auto& l) { return l.is_match; });
    if (listing.listed > 0 || shown == lines.end()) {
        return 0;
    }
    std::uint64_t needed = utf8::count(numbered(path, *shown));
    for (; shown != lines.begin(); --shown) {
        needed += utf8::count(numbered(path, *std::prev(shown)));
        if (needed > listing.left) {
            break;
        }
    }
    return static_cast<std::size_t>(shown - lines.begin());
}

void add_lines(Listing& listing, const protocol::GrepFile& file, const GrepView& view, json& lines)
{
    const std::string path = visible(file.path);
    const std::size_t omitted = context_without_room(listing, path, file);
    listing.context_omitted += file.context_omitted + omitted;
    for (const auto& line : std::span(file.lines).subspan(omitted)) {
        const bool gap =
            view.groups && !listing.text.empty() && (line.group_start || lines.empty());
        if (!listing.add((gap ? "--\n" : "") + numbered(path, line),
                         line.is_match && !line.continues)) {
            return;
        }
        lines.push_back({{"number", line.number},
                         {"text", utf8::sanitize(line.text)},
                         {"is_match", line.is_match},
                         {"cut", line.cut || line.cut_front}});
    }
}

void add_file(Listing& listing, const protocol::GrepFile& file, const GrepView& view)
{
    auto lines = json::array();
    switch (view.mode) {
    case GrepMode::content:
        add_lines(listing, file, view, lines);
        if (lines.empty()) {
            return;
        }
        break;
    case GrepMode::files:
    case GrepMode::count: {
        const std::string count =
            view.mode == GrepMode::count ? ":" + std::to_string(file.count) : "";
        if (!listing.add(visible(file.path) + count + "\n", true)) {
            return;
        }
        break;
    }
    }
    listing.files.push_back(
        {{"path", utf8::sanitize(file.path)}, {"count", file.count}, {"lines", std::move(lines)}});
}

/// Of all that was found nothing is text, and nothing else was passed over.
bool is_all_binary(const GrepReply& reply)
{
    return reply.complete && reply.binary_files > 0 && reply.searched_files == 0 &&
           reply.total_files == 0 && reply.ignored_files == 0 && reply.large_files == 0 &&
           reply.unreadable == 0;
}

std::string totals_phrase(const GrepView& view, const GrepReply& reply)
{
    const std::string more = reply.complete ? "" : " or more";
    if (is_all_binary(reply)) {
        return visible(reply.root) + " was not searched for " + visible(view.pattern) +
               ": there is nothing but " + counted(reply.binary_files, "file") +
               " with a NUL byte or another mark of binary content (grep -a in bash_exec searches "
               "it)";
    }
    if (reply.total_files == 0) {
        return "No matches for " + visible(view.pattern) + " in " + visible(reply.root) + " (" +
               counted(reply.searched_files, "file") + " searched)" +
               (reply.searched_files == 0 && view.chooses
                    ? "; no file there is one that include and type choose (several globs: a list, "
                      "or *.{c,h})"
                    : "") +
               (view.word_edges ? "; \\< and \\> are a literal < and >, \\b is a word's edge"
                                : "") +
               (view.dot_stops_at_newline ? "; . does not match a newline, (?s). does" : "");
    }
    const std::string files = counted(reply.total_files, "file");
    return view.mode == GrepMode::files
               ? files + more + " with a match"
               : counted(reply.total_matches, reply.counts_lines ? "matching line" : "match") +
                     more + " in " + files + more;
}

/// What a report says that has found something and lists nothing.
std::string empty_page_phrase(const GrepView& view, const GrepReply& reply, std::uint64_t total)
{
    if (view.offset >= total) {
        return "offset " + thousands(view.offset) + " is past " +
               (reply.complete ? "the end" : "what was found");
    }
    return reply.truncated_by == "time"
               ? ""
               : "the files changed while they were searched; search again";
}

std::string page_phrase(const GrepView& view, const GrepReply& reply, const Listing& listing,
                        std::uint64_t total)
{
    if (listing.listed == 0) {
        return total == 0 ? "" : empty_page_phrase(view, reply, total);
    }
    if (view.offset == 0 && listing.listed == total) {
        return {};
    }
    return "showing " + thousands(view.offset + 1) + "–" + thousands(view.offset + listing.listed);
}

std::string cause_phrase(const std::string& truncated_by)
{
    if (truncated_by == "limit") {
        return "cut at limit";
    }
    if (truncated_by == "budget") {
        return "cut at the size of a result";
    }
    return truncated_by == "time" ? "ran out of time; narrow the path" : "";
}

std::string omitted_phrase(const Listing& listing)
{
    return listing.context_omitted == 0 ? ""
                                        : counted(listing.context_omitted, "line") +
                                              " of context before the first match left out";
}

std::vector<std::string> skipped_phrases(const GrepView& view, const GrepReply& reply)
{
    const auto phrase = [](std::uint64_t count, const std::string& what) {
        return count == 0 ? std::string() : counted(count, "file") + " " + what;
    };
    return {
        view.no_ignore ? std::string()
                       : phrase(reply.ignored_files, "skipped as ignored (no_ignore)"),
        // What is all that there is has been told.
        is_all_binary(reply) ? std::string() : phrase(reply.binary_files, "skipped as binary"),
        phrase(reply.large_files, "too large for multiline"),
        phrase(reply.slow_files, "left before the end, as the pattern takes too long there"),
        reply.capped_ignore_files == 0
            ? std::string()
            : counted(reply.capped_ignore_files, "ignore file") + " too long to obey whole",
        unreadable_phrase(reply.unreadable, reply.unreadable_paths),
    };
}

/// The position after the `[...]` at `at`; the end when it is not closed.
std::size_t class_end(std::string_view pattern, std::size_t at)
{
    at += pattern.substr(at).starts_with("[^") ? 2U : 1U;
    for (bool first = true; at < pattern.size() && (first || pattern[at] != ']'); first = false) {
        const auto named =
            pattern.substr(at).starts_with("[:") ? pattern.find(":]", at) : std::string_view::npos;
        at = named != std::string_view::npos ? named + 2 : at + (pattern[at] == '\\' ? 2U : 1U);
    }
    return std::min(at + 1, pattern.size());
}

/// Whether the group at `at` sets the flag s: "(?s)", "(?is:".
bool sets_dot_all(std::string_view pattern, std::size_t at)
{
    if (!pattern.substr(at).starts_with("(?")) {
        return false;
    }
    const std::string_view flags = pattern.substr(at + 2);
    return flags.substr(0, flags.find_first_not_of("imsU")).find('s') != std::string_view::npos;
}

} // namespace

bool dot_stops_at_newline(std::string_view pattern)
{
    bool found = false;
    for (std::size_t at = 0; at < pattern.size();) {
        if (pattern[at] == '[') {
            at = class_end(pattern, at);
            continue;
        }
        if (sets_dot_all(pattern, at)) {
            return false;
        }
        found = found || pattern[at] == '.';
        at += pattern[at] == '\\' ? 2U : 1U;
    }
    return found;
}

Result grep_report(const GrepView& view, const GrepReply& reply)
{
    Listing listing;
    listing.left = view.budget;
    for (const auto& file : reply.files) {
        if (listing.full) {
            break;
        }
        add_file(listing, file, view);
    }
    const bool has_no_room =
        listing.full || (listing.context_omitted > 0 && reply.truncated_by.empty());
    const std::string truncated_by = has_no_room ? "budget" : reply.truncated_by;
    const std::uint64_t total =
        view.mode == GrepMode::content ? reply.total_matches : reply.total_files;
    const std::uint64_t next = view.offset + listing.listed;
    const bool more = listing.listed > 0 && next < total;

    const std::string totals = totals_phrase(view, reply);
    std::vector<std::string> parts = {totals, page_phrase(view, reply, listing, total),
                                      cause_phrase(truncated_by), omitted_phrase(listing),
                                      more ? "next: offset " + std::to_string(next) : ""};
    const auto skipped = skipped_phrases(view, reply);
    parts.insert(parts.end(), skipped.begin(), skipped.end());

    json data = {
        {"message", totals},
        {"root", utf8::sanitize(reply.root)},
        {"mode", mode_word(view.mode)},
        {"files", std::move(listing.files)},
        {"listed", listing.listed},
        {"total_files", reply.total_files},
        {"total_matches", reply.total_matches},
        {"searched_files", reply.searched_files},
        {"ignored_files", reply.ignored_files},
        {"binary_files", reply.binary_files},
        {"large_files", reply.large_files},
        {"unreadable_files", reply.unreadable},
        {"unreadable_paths", sanitized(reply.unreadable_paths)},
        {"slow_files", reply.slow_files},
        {"capped_ignore_files", reply.capped_ignore_files},
        {"complete", reply.complete},
        {"truncated_by", truncated_by},
        {"context_omitted", listing.context_omitted},
        {"next_offset", more ? next : 0},
    };
    return {listing.text + status_line(parts), std::move(data)};
}

} // namespace berth::tools
