#include "tools/read_report.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/protocol/listing.hpp"
#include "tools/line_starts.hpp"
#include "tools/picture.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace berth::tools {
namespace {

using nlohmann::json;
using protocol::FileKind;
using protocol::ReadFileReply;

std::string_view kind_word(FileKind kind)
{
    switch (kind) {
    case FileKind::text:
        return "text";
    case FileKind::image:
        return "image";
    case FileKind::directory:
        return "directory";
    case FileKind::binary:
        break;
    }
    return "binary";
}

} // namespace

json read_data(const ReadFileReply& reply, std::string message)
{
    return {
        {"message", std::move(message)},
        {"path", utf8::sanitize(reply.path)},
        {"kind", kind_word(reply.kind)},
        {"size_bytes", reply.size},
        {"sha256", reply.sha256},
        {"content", ""},
        {"first_line", 0},
        {"line_count", 0},
        {"total_lines", reply.total_lines},
        {"totals_partial", reply.totals_partial},
        {"truncated_by", ""},
        {"next_offset", 0},
        {"mime_type", reply.mime_type},
        {"encoding", reply.encoding},
        {"line_ending", reply.line_ending},
        {"final_newline", reply.final_newline},
        {"entries", json::array()},
        {"total_entries", reply.total_entries},
    };
}

std::uint64_t first_of(std::int64_t offset, std::uint64_t total)
{
    return offset >= 0 ? static_cast<std::uint64_t>(offset)
                       : total - std::min(static_cast<std::uint64_t>(-offset), total);
}

namespace {

std::string what_it_is(const ReadFileReply& reply)
{
    return reply.mime_type.empty() ? "binary file" : reply.mime_type;
}

std::string entry_line(const protocol::DirectoryEntry& entry)
{
    std::string line = visible(entry.name);
    if (entry.type == "directory") {
        return line + "/";
    }
    if (entry.type == "symlink") {
        return line + " -> " + visible(entry.target);
    }
    return line + "  " + (entry.type == "file" ? human_bytes(entry.size) : entry.type);
}

} // namespace

Result described(const ReadFileReply& reply, const std::string& remark)
{
    constexpr std::size_t shown = 256;
    const auto head = std::string_view(reply.content).substr(0, shown);
    const std::string about = what_it_is(reply) + ", " + human_bytes(reply.size);
    const std::string text =
        "[" + about + (remark.empty() ? "" : " · " + remark) + " · the first " +
        counted(head.size(), "byte") +
        " in hex; read it with encoding base64, or with a program in the sandbox]\n" +
        hexdump(head);
    return {text, read_data(reply, about)};
}

Result base64_report(const ReadFileReply& reply, std::int64_t asked, std::string_view cut_by)
{
    const auto offset = asked < 0 ? reply.skipped : static_cast<std::uint64_t>(asked);
    const std::uint64_t end = offset + reply.content.size();
    const bool more = end < reply.size;
    std::string range;
    if (reply.content.empty()) {
        range = reply.size == 0
                    ? "the file is empty"
                    : "offset " + thousands(offset) + " is past the end: the file has " +
                          counted(reply.size, "byte");
    } else if (offset > 0 || more) {
        range = "bytes " + thousands(offset) + "–" + thousands(end - 1) + " of " +
                thousands(reply.size);
    }
    const std::string header =
        status_line({range, more && end > offset ? "next: offset " + std::to_string(end) : ""});
    const std::string body = base64_encode(reply.content);
    auto data = read_data(reply, range.empty() ? counted(reply.size, "byte") : range);
    data["content"] = body;
    data["encoding"] = "base64";
    data["truncated_by"] = more && end > offset ? cut_by : "";
    data["next_offset"] = more && end > offset ? end : 0;
    return {header + (header.empty() || body.empty() ? "" : "\n") + body, std::move(data)};
}

Result image_report(ReadFileReply reply, const std::string& advice)
{
    // Checked here: one picture that the model's API refuses would make it refuse the conversation.
    if (auto fault = picture_fault(reply.content, reply.mime_type); !fault.empty()) {
        reply.kind = FileKind::binary;
        return described(reply, "not shown as a picture: " + fault +
                                    (advice.empty() ? "" : " · " + advice));
    }
    const std::string about =
        what_it_is(reply) + ", " + human_bytes(reply.size) + ", " + visible(reply.path);
    Result result("[" + about + "]", read_data(reply, about));
    result.images.push_back({std::move(reply.content), std::move(reply.mime_type)});
    return result;
}

Result binary_report(const ReadFileReply& reply, std::uint64_t picture_limit,
                     const std::string& advice)
{
    const bool large_picture = reply.mime_type.starts_with("image/") && reply.size > picture_limit;
    return described(
        reply, large_picture ? "too large to show as a picture (" + human_bytes(picture_limit) +
                                   " at most): " +
                                   (advice.empty() ? "make a smaller copy in the sandbox" : advice)
                             : "");
}

Result directory_report(const ReadFileReply& reply, std::int64_t asked, std::uint64_t budget)
{
    const bool from_end = asked < 0;
    const auto offset = from_end ? reply.skipped : static_cast<std::uint64_t>(asked);
    std::string lines;
    auto entries = json::array();
    for (const auto& entry : reply.entries) {
        const std::string line = entry_line(entry) + "\n";
        // One is shown in any case: the next page would begin with it again.
        if (!entries.empty() && utf8::count(lines) + utf8::count(line) > budget) {
            break;
        }
        lines += line;
        entries.push_back({{"name", utf8::sanitize(entry.name)},
                           {"type", entry.type},
                           {"size_bytes", entry.size},
                           {"target", utf8::sanitize(entry.target)}});
    }
    const std::uint64_t listed = entries.size();
    const std::uint64_t next = offset + listed;
    const bool more = next < reply.total_entries;
    const bool can_be_listed = from_end || next < protocol::max_listed_entries;
    const std::int64_t next_offset = !more || !can_be_listed ? 0
                                     : next < protocol::max_listed_entries
                                         ? static_cast<std::int64_t>(next)
                                         : -static_cast<std::int64_t>(reply.total_entries - next);
    std::string header =
        visible(reply.path) + ": " +
        (reply.total_entries == 0 ? "empty directory"
                                  : "directory, " + counted(reply.total_entries, "entry"));
    if (listed == 0 && reply.total_entries > 0 && !more) {
        header += " · offset " + thousands(offset) + " is past the end";
    } else if (listed > 0 && listed < reply.total_entries) {
        header += " · listed: " + thousands(offset + 1) + "–" + thousands(next);
    }
    if (more && can_be_listed) {
        header += " · next: offset " + std::to_string(next_offset);
    } else if (more) {
        header +=
            " · only the first " + thousands(protocol::max_listed_entries) +
            " by name can be listed: for the others use glob_files, or ls | tail in bash_exec";
    }
    auto data = read_data(reply, header);
    data["truncated_by"] = !more ? "" : listed < reply.entries.size() ? "budget" : "limit";
    data["next_offset"] = next_offset;
    data["entries"] = std::move(entries);
    return {"[" + header + "]\n" + lines, std::move(data)};
}

namespace {

/// Lines of text that fit into a budget, in the two forms in which they are given back.
struct ShownLines {
    std::string text;
    std::uint64_t lines = 0;
    std::size_t bytes = 0;        ///< of the reply's content
    bool cut = false;             ///< the last one
    std::uint64_t characters = 0; ///< of the one that is cut, shown
    std::uint64_t of = 0;         ///< and how many it has; 0: more than arrived
};

std::string_view without_end(std::string_view line, bool crlf)
{
    if (line.ends_with('\n')) {
        line.remove_suffix(1);
    }
    if (crlf && line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

/// A sandbox that says more is not believed: the difference of such numbers is not defined.
constexpr std::uint64_t most_lines = std::uint64_t{1} << 62U;

/// As it is shown: of a file that was not counted, lines are numbered from its end, -1 is the last.
std::int64_t line_number(const ReadFileReply& reply, std::uint64_t index)
{
    return reply.lines_from_end > 0
               ? static_cast<std::int64_t>(index) -
                     static_cast<std::int64_t>(std::min(reply.lines_from_end, most_lines))
               : static_cast<std::int64_t>(reply.first_line + index);
}

std::string shown_number(std::int64_t number)
{
    return number < 0 ? "-" + thousands(static_cast<std::uint64_t>(-number))
                      : thousands(static_cast<std::uint64_t>(number));
}

/// A first line that alone is longer than the budget is cut; any other that does not fit is left
/// for the next call.
ShownLines show_lines(const ReadFileReply& reply, bool numbers, std::uint64_t budget)
{
    ShownLines shown;
    std::uint64_t left = budget;
    std::string_view rest = reply.content;
    while (!rest.empty()) {
        const auto line = take_line(rest);
        const auto body = without_end(line, reply.line_ending == "crlf");
        const std::string prefix =
            numbers ? std::to_string(line_number(reply, shown.lines)) + "\t" : std::string();
        const std::uint64_t needed = prefix.size() + utf8::count(body) + 1;
        if (needed > left) {
            if (shown.lines > 0) {
                break;
            }
            std::size_t end = 0;
            for (auto room = left - std::min<std::uint64_t>(left, prefix.size() + 1); room > 0;
                 --room) {
                end += std::max<std::size_t>(utf8::character_length(body.substr(end)), 1);
            }
            shown.text = prefix + utf8::sanitize(body.substr(0, end)) + "\n";
            const bool whole = reply.truncated_by != "line";
            return {std::move(shown.text),        1, end, true, utf8::count(body.substr(0, end)),
                    whole ? utf8::count(body) : 0};
        }
        shown.text += prefix;
        shown.text += utf8::sanitize(body);
        shown.text += '\n';
        shown.bytes += line.size();
        ++shown.lines;
        left -= needed;
    }
    return shown;
}

std::string truncation(const ReadFileReply& reply, const ShownLines& shown)
{
    if (shown.cut) {
        return "line";
    }
    return shown.lines < reply.line_count ? "budget" : reply.truncated_by;
}

/// Only the beginning of a very large file was counted.
std::string total_lines(const ReadFileReply& reply)
{
    return (reply.totals_partial ? "at least " : "") + thousands(reply.total_lines);
}

/// "lines 101–200"
std::string range_phrase(const ReadFileReply& reply, const ShownLines& shown)
{
    const std::string first = shown_number(line_number(reply, 0));
    const std::string last = shown_number(line_number(reply, shown.lines - 1));
    return first == last ? "line " + first
                         : "lines " + first + (reply.lines_from_end > 0 ? " to " : "–") + last;
}

std::string lines_phrase(const ReadFileReply& reply, const ShownLines& shown, std::int64_t asked,
                         std::uint64_t offset)
{
    if (reply.total_lines == 0) {
        return reply.size == 0 ? "the file is empty" : "";
    }
    if (shown.lines == 0) {
        return "offset " + thousands(offset) + " is past the end: the file has " +
               counted(reply.total_lines, "line");
    }
    if (reply.lines_from_end > 0) {
        return range_phrase(reply, shown) +
               ", counted from the end: of a file above 1 GiB the lines before are not counted";
    }
    if (offset == 0 && shown.lines == reply.total_lines && !reply.totals_partial) {
        return {};
    }
    const std::string skipped = std::to_string(offset);
    return range_phrase(reply, shown) + " of " + total_lines(reply) +
           (offset == 0 ? ""
            : asked < 0 ? " (offset " + std::to_string(asked) + ")"
                        : " (offset " + skipped + " skips " + skipped + ")");
}

std::string cut_phrase(const ReadFileReply& reply, const ShownLines& shown)
{
    const std::string of = shown.of > 0 ? " of " + thousands(shown.of) + " characters"
                           : reply.total_lines == 1 && !reply.totals_partial
                               ? " characters of " + counted(reply.size, "byte")
                               : " characters";
    return "line " + shown_number(line_number(reply, 0)) +
           " is too long and was cut: these are its first " + thousands(shown.characters) + of +
           "; bash_exec with cut -c, or encoding base64, shows the rest";
}

std::vector<std::string> peculiarities(const ReadFileReply& reply)
{
    std::vector<std::string> parts;
    if (reply.encoding == "invalid-utf-8") {
        parts.emplace_back("not valid UTF-8: U+FFFD stands for each invalid byte; edit_file keeps "
                           "them, its old_text cannot name them");
    } else if (reply.encoding == "utf-8-bom") {
        parts.emplace_back("begins with a byte order mark");
    } else if (!reply.encoding.empty() && reply.encoding != "utf-8") {
        parts.push_back("encoding " + reply.encoding);
    }
    if (reply.line_ending == "crlf") {
        parts.emplace_back("CRLF line ends");
    } else if (reply.line_ending == "mixed") {
        parts.emplace_back("mixed LF and CRLF line ends");
    }
    const auto carriage_return = reply.content.find('\r');
    if (reply.line_ending.empty() && carriage_return != std::string::npos &&
        carriage_return + 1 < reply.content.size()) {
        parts.emplace_back("lines end with CR alone and count as one");
    }
    const bool end_seen = !reply.totals_partial || reply.lines_from_end > 0;
    if (!reply.final_newline && reply.size > 0 && end_seen) {
        parts.emplace_back("no newline at the end");
    }
    return parts;
}

} // namespace

Result text_report(const ReadFileReply& reply, std::int64_t asked, bool line_numbers,
                   std::uint64_t budget)
{
    const ShownLines shown = show_lines(reply, line_numbers, budget);
    const std::string truncated_by = truncation(reply, shown);
    const std::uint64_t first = std::max<std::uint64_t>(reply.first_line, 1);
    const std::uint64_t offset = asked < 0 ? first - 1 : static_cast<std::uint64_t>(asked);
    const std::int64_t next = reply.lines_from_end > 0
                                  ? line_number(reply, shown.lines)
                                  : static_cast<std::int64_t>(offset + shown.lines);
    const bool more =
        shown.lines > 0 && (reply.lines_from_end > 0
                                ? next < 0
                                : offset + shown.lines < reply.total_lines || reply.totals_partial);

    std::vector<std::string> parts = {lines_phrase(reply, shown, asked, offset)};
    const auto peculiar = peculiarities(reply);
    parts.insert(parts.end(), peculiar.begin(), peculiar.end());
    if (truncated_by == "line") {
        parts.push_back(cut_phrase(reply, shown));
    }
    parts.push_back(more ? "next: offset " + std::to_string(next) : "");
    parts.push_back(short_hash("", reply.sha256));

    const std::string header = status_line(parts);
    auto data = read_data(reply, counted(shown.lines, "line") + " of " + total_lines(reply));
    data["content"] = utf8::sanitize(std::string_view(reply.content).substr(0, shown.bytes));
    data["first_line"] = shown.lines > 0 ? line_number(reply, 0) : 0;
    data["line_count"] = shown.lines;
    data["truncated_by"] = truncated_by;
    data["next_offset"] = more ? next : 0;
    return {header + (header.empty() || shown.text.empty() ? "" : "\n") + shown.text,
            std::move(data)};
}

} // namespace berth::tools
