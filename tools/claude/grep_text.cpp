#include "tools/claude/dialect.hpp"
#include "tools/claude/shown_path.hpp"
#include "tools/render.hpp"
#include "tools/unreadable.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tools::claude {
namespace {

using nlohmann::json;

std::uint64_t number(const json& data, const char* key)
{
    return data.at(key).get<std::uint64_t>();
}

bool has_context(const json& arguments)
{
    for (const auto* name : {"-A", "-B", "-C", "context"}) {
        if (const auto* lines = given(arguments, name); lines != nullptr && *lines != 0) {
            return true;
        }
    }
    return false;
}

/// A match may span lines: each of its lines is one of the text.
/// Without a path for the only file that was asked for.
std::string lines_of(const json& line, const std::string& path, bool numbers)
{
    const char separator = line.at("is_match") == true ? ':' : '-';
    std::string result;
    std::uint64_t at = number(line, "number");
    std::string_view rest = line.at("text").get_ref<const std::string&>();
    do {
        const auto end = rest.find('\n');
        std::string_view body = rest.substr(0, end);
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
        if (body.ends_with('\r')) {
            body.remove_suffix(1);
        }
        result += path.empty() ? "" : path + separator;
        result += numbers ? std::to_string(at) + separator : "";
        result += body;
        result += rest.empty() && line.at("cut") == true ? " [cut]\n" : "\n";
        ++at;
    } while (!rest.empty());
    return result;
}

std::string content(const json& arguments, const json& data)
{
    const auto* flag = given(arguments, "-n");
    const bool numbers = flag == nullptr || flag->get<bool>();
    const bool groups = has_context(arguments);
    std::string text;
    for (const auto& file : data.at("files")) {
        const bool only = file.at("path") == data.at("root");
        const auto path =
            only ? "" : shown_path(arguments, data, file.at("path").get<std::string>());
        std::uint64_t expected = 0; // no line has this number: a file begins a group
        for (const auto& line : file.at("lines")) {
            const auto at = number(line, "number");
            text += groups && !text.empty() && at > expected ? "--\n" : "";
            text += lines_of(line, path, numbers);
            const auto& body = line.at("text").get_ref<const std::string&>();
            const auto breaks = std::count(body.begin(), body.end(), '\n');
            expected = at + static_cast<std::uint64_t>(breaks) + (body.ends_with('\n') ? 0 : 1);
        }
    }
    return text;
}

std::string paths(const json& arguments, const json& data, bool counts)
{
    std::string text;
    for (const auto& file : data.at("files")) {
        text += shown_path(arguments, data, file.at("path").get<std::string>());
        text += counts ? ":" + file.at("count").dump() + "\n" : "\n";
    }
    return text;
}

/// "limit: 3, offset: 6": what was applied, as far as it kept something back.
std::string pagination(const json& arguments, const Settings& settings, const json& data)
{
    const auto* limit = given(arguments, "head_limit");
    const auto* offset = given(arguments, "offset");
    std::string text;
    if (data.at("truncated_by") == "limit") {
        text = "limit: " + (limit != nullptr ? limit->dump() : std::to_string(settings.grep_limit));
    }
    if (offset != nullptr && *offset != 0) {
        text += (text.empty() ? "offset: " : ", offset: ") + offset->dump();
    }
    return text;
}

std::string some(std::uint64_t count, const std::string& what)
{
    return count == 0 ? "" : counted(count, "file") + " " + what;
}

/// What ripgrep would not have left out, and what else a caller could not see.
std::vector<std::string> remarks(const json& data, bool found)
{
    const auto next = number(data, "next_offset");
    std::vector<std::string> parts = {
        data.at("truncated_by") == "budget" && next > 0
            ? "the result is full; next: offset " + std::to_string(next)
            : "",
        data.at("complete") == true ? "" : "the search ran out of time: narrow the path",
        number(data, "context_omitted") == 0 ? ""
                                             : counted(number(data, "context_omitted"), "line") +
                                                   " of context before the first match left out",
        some(number(data, "large_files"), "too large for multiline"),
        some(number(data, "slow_files"),
             "left before the end, as the pattern takes too long there"),
        unreadable_phrase(number(data, "unreadable_files"),
                          data.at("unreadable_paths").get<std::vector<std::string>>()),
    };
    if (!found) {
        parts.push_back(some(number(data, "ignored_files"), "skipped as ignored by .gitignore"));
        parts.push_back(some(number(data, "binary_files"), "skipped as binary"));
    }
    return parts;
}

std::string totals(const json& data)
{
    const auto matches = number(data, "total_matches");
    const auto files = number(data, "total_files");
    return "Found " + std::to_string(matches) + " total occurrence" + (matches == 1 ? "" : "s") +
           " across " + std::to_string(files) + " file" + (files == 1 ? "." : "s.");
}

std::string listing(const json& arguments, const Settings& settings, const json& data)
{
    const auto page = pagination(arguments, settings, data);
    const auto& mode = data.at("mode").get_ref<const std::string&>();
    const auto listed = number(data, "listed");
    if (mode == "files") {
        if (listed == 0) {
            return page.empty()
                       ? "No files found\n"
                       : "No entries at this offset. [Showing results with pagination = " + page +
                             "]\n";
        }
        return "Found " + std::to_string(listed) + (listed == 1 ? " file" : " files") +
               (page.empty() ? "" : " " + page) + "\n" + paths(arguments, data, false);
    }
    std::string text =
        listed > 0     ? mode == "count" ? paths(arguments, data, true) : content(arguments, data)
            : page.empty() ? "No matches found\n"
                       : "No entries at this offset\n";
    if (mode == "count") {
        return text + "\n" + totals(data) + (page.empty() ? "" : " with pagination = " + page) +
               "\n";
    }
    return text + (page.empty() ? "" : "\n[Showing results with pagination = " + page + "]\n");
}

} // namespace

void Grep::phrase(const json& arguments, const Settings& settings, Result& result)
{
    const auto& data = *result.data;
    std::string text = listing(arguments, settings, data);
    text += status_line(remarks(data, number(data, "total_files") > 0));
    text.erase(text.find_last_not_of('\n') + 1);
    result.text = std::move(text);
}

} // namespace berth::tools::claude
